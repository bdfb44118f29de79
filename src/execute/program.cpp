#include "assay/program.h"

#include <algorithm>

#include "assay/precision.h"
#include "base/fail.h"
#include "execute/engine.h"
#include "execute/precision.h"
#include "transform/cast_precision.h"

namespace assay {

namespace {

bool is_quantised(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op.starts_with("QLinear") || node.op.ends_with("QuantizeLinear") ||
           node.op == "DequantizeLinear" || node.op.find("Integer") != std::string::npos ||
           node.op == "QGemm" || node.op == "MatMulNBits";
  });
}

void check_precision(const Graph& graph, DataType type) {
  if (type == DataType::Int8) {
    if (is_quantised(graph)) return;
    fail_usage(
        "`precision` int8 needs a model that is quantised already, and this one has no quantised "
        "layer: quantise it first, or choose fp32, bf16 or fp16");
  }
  const bool is_float =
      type == DataType::Float32 || type == DataType::BFloat16 || type == DataType::Float16;
  if (!is_float)
    fail_usage("`precision` {}: no engine runs it; choose fp32, bf16, fp16 or int8",
               execute::precision_name(type));
  const bool carries_caches = std::ranges::all_of(graph.carried(), [&](const Carried& state) {
    return transform::is_key_value_cache(graph, state);
  });
  if (!carries_caches && type != DataType::Float32)
    fail_usage(
        "`precision` {}: a graph that carries state from run to run, such as a step of "
        "training, runs in fp32 only",
        execute::precision_name(type));
}

}  // namespace

std::string_view name(OptimizeFor goal) {
  return goal == OptimizeFor::Latency ? "latency" : "memory";
}

void set_precision(ProgramOptions& options, std::string_view name) {
  options.cuda.tf32 = name == "tf32";
  if (!options.cuda.tf32) {
    options.precision = float_precision(name);
    return;
  }
  if (find_engine(options.engine).device != "cuda")
    fail_usage(
        "`precision` tf32 requires the engine cuda: only the tensor cores of a GPU compute in it");
  options.precision = DataType::Float32;
}

std::string asked_precision(const ProgramOptions& options) {
  if (options.cuda.tf32) return "tf32";
  return options.precision ? std::string(name(*options.precision)) : "";
}

std::unique_ptr<Program> compile(Inferred model, const ProgramOptions& options,
                                 Progress* progress) {
  ProgramOptions checked = options;
  if (options.precision) check_precision(model.graph, *options.precision);
  if (options.precision == DataType::Int8) checked.precision.reset();  // it is what it is
  return execute::usable_engine(options.engine).compile(std::move(model), checked, progress);
}

}  // namespace assay
