// Quantises a model from a folder of .npy files and says how long it took and how much memory.
//
//   bench_quantize MODEL FOLDER|- OUT.onnx [int8|dynamic|int4|int8w|fp16|bf16]
//   [minmax|percentile|mse|entropy]
//                  [per-tensor] [equalize] [no-bias] [mixed] [in-bf16] [sensitivity]
//
// `mixed` keeps the first and the last layer in float; `in-bf16` observes activations in bf16.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "assay/assay.h"

namespace {

using namespace assay;

Graph variant(const Graph& model, const std::string& folder,
              const std::vector<std::string>& words) {
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  if (has("fp16") || has("bf16"))
    return cast_precision(model, has("fp16") ? DataType::Float16 : DataType::BFloat16).graph;
  if (has("int4") || has("int8w"))
    return quantize_weights(model, {.bits = has("int4") ? 4 : 8}).graph;
  QuantizeOptions options;
  for (const char* method : {"minmax", "percentile", "mse", "entropy"})
    if (has(method)) options.calibration = calibration_method(method);
  options.per_channel = !has("per-tensor");
  options.equalize = has("equalize");
  options.correct_bias = !has("no-bias");
  if (has("in-bf16")) options.program.precision = DataType::BFloat16;
  if (has("mixed")) {
    const auto layers = quantizable_layers(model);
    if (!layers.empty()) options.keep_float = {layers.front(), layers.back()};
  }
  if (has("dynamic")) return quantize_dynamic(model, options).graph;
  const CalibrationData data = calibration_folder(folder, model);
  if (has("sensitivity")) {
    for (const auto& layer : measure_sensitivity(model, data, options))
      fmt::print("{:40} {:8.2f} dB  {:.4f}\n", layer.layer, layer.snr_db, layer.agreement);
  }
  QuantizeResult result = quantize_model(model, data, options);
  for (const auto& layer : result.layers) {
    if (!layer.why_float.empty())
      fmt::print(stderr, "{} {}: {}\n", layer.op, layer.name, layer.why_float);
  }
  for (const auto& warning : result.warnings) fmt::print(stderr, "warning: {}\n", warning);
  return std::move(result.graph);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) {
    fmt::print(stderr, "bench_quantize MODEL FOLDER|- OUT.onnx [word ...]\n");
    return 2;
  }
  try {
    const std::string name = arguments[1];
    const auto start = std::chrono::steady_clock::now();
    const Graph model = name.starts_with("zoo:") ? zoo_model(name.substr(4)) : read_onnx(name);
    write_onnx(variant(model, arguments[2], {arguments + 4, arguments + count}), arguments[3]);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("{:.2f} s, {} MiB\n", took.count(), usage.ru_maxrss / 1024);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
}
