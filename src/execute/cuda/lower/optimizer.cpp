// Sgd, Momentum and Adam: parameters and states are written over where they lie. And Dropout in
// training, which drops what a seed, the step and the position say.
#include <fmt/core.h>

#include <bit>
#include <cmath>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"
#include "kernels/dropout.h"

namespace assay::cuda {

namespace {

std::string attribute(const Node& node, const char* name, float otherwise) {
  return number_text(static_cast<double>(node.float_or(name, otherwise)), "float");
}

// Statements that change `weight` and the states `state0` and `state1` by `gradient`, as PyTorch
// does.
std::string update_text(const Node& node) {
  const std::string decay = attribute(node, "weight_decay", 0);
  if (node.op == "Sgd") return fmt::format("  weight -= rate * (gradient + {} * weight);\n", decay);
  if (node.op == "Momentum")
    return fmt::format(
        "  state0 = {} * state0 + gradient + {} * weight;\n  weight -= rate * state0;\n",
        attribute(node, "momentum", 0.9f), decay);
  const float beta1 = node.float_or("beta1", 0.9f);
  const float beta2 = node.float_or("beta2", 0.999f);
  // 1 - beta^step without the loss of digits.
  const auto share = [](float beta) {
    const double logarithm = std::log(static_cast<double>(beta));
    return fmt::format("-expm1f(step * {})", number_text(logarithm, "float"));
  };
  const auto kept = [](float beta, bool rest) {
    return number_text(rest ? 1 - static_cast<double>(beta) : static_cast<double>(beta), "float");
  };
  return fmt::format(
      R"(  const float full = {full};
{shrink}  state0 = {beta1} * state0 + {rest1} * full;
  state1 = {beta2} * state1 + {rest2} * full * full;
  weight -= rate * (state0 / ({share1})) / (sqrtf(state1 / ({share2})) + {epsilon});
)",
      fmt::arg("full", node.int_or("decoupled", 0) != 0
                           ? std::string("gradient")
                           : fmt::format("gradient + {} * weight", decay)),
      fmt::arg("shrink", node.int_or("decoupled", 0) != 0
                             ? fmt::format("  weight *= 1.0f - rate * {};\n", decay)
                             : std::string()),
      fmt::arg("beta1", kept(beta1, false)), fmt::arg("rest1", kept(beta1, true)),
      fmt::arg("beta2", kept(beta2, false)), fmt::arg("rest2", kept(beta2, true)),
      fmt::arg("share1", share(beta1)), fmt::arg("share2", share(beta2)),
      fmt::arg("epsilon", attribute(node, "epsilon", 1e-8f)));
}

// Inputs: the rate, the number of the step, the parameter, its gradient, states.
bool lower_update(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const std::size_t states = node.outputs.size() - 1;
  if (node.inputs.size() != states + 4 || states > 2) return false;
  std::vector<std::size_t> changed = {2};
  for (std::size_t i = 0; i < states; ++i) changed.push_back(4 + i);
  for (std::size_t i = 2; i < node.inputs.size(); ++i)
    if (lowering.type(node.inputs[i]) != DataType::Float32) return false;
  const Placement gradient = lowering.native(node.inputs[3]);
  std::vector<Placement> reads = {lowering.native(node.inputs[0]), lowering.native(node.inputs[1]),
                                  gradient};
  std::string parameters = parameter_text(reads[0], "rate_at") +
                           parameter_text(reads[1], "step_at") +
                           parameter_text(gradient, "gradient_at");
  std::string loads;
  std::string stores;
  std::vector<Placement> writes;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const ValueId input = node.inputs[changed[i]];
    const std::string name = i == 0 ? "weight" : fmt::format("state{}", i - 1);
    const bool in_place = lowering.may_replace(input, id);
    const Placement from = lowering.row_major(input);
    const Placement to = in_place ? from : lowering.new_row_major(node.outputs[i]);
    loads += fmt::format("  float {0} = {0}_from[element];\n", name);
    stores += fmt::format("  {0}_to[element] = {0};\n", name);
    parameters += fmt::format("{0}const float* {1}_from, float* {1}_to", i == 0 ? "" : ", ", name);
    reads.push_back(from);
    writes.push_back(to);
    lowering.set_placement(node.outputs[i], to);
  }
  const Placement& weight = writes[0];
  if (weight.elements() == 0) return true;
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}) {{
  const long long element = blockIdx.x * {threads}ll + threadIdx.x;
  if (element >= {count}) return;
{coordinates}  const float rate = *rate_at, step = (float)*step_at, gradient = {gradient};
{loads}{update}{stores}}}
)",
      fmt::arg("parameters", parameters), fmt::arg("threads", kBlockThreads),
      fmt::arg("count", weight.elements()), fmt::arg("coordinates", coordinates_of(weight)),
      fmt::arg("gradient", element_text(gradient, "gradient_at", index_names(weight.dims))),
      fmt::arg("loads", loads), fmt::arg("update", update_text(node)), fmt::arg("stores", stores));
  KernelCall call{
      lowering.kernels().add(text), launch_for(weight.elements()), {reads[0], reads[1], gradient}};
  for (std::size_t i = 0; i < writes.size(); ++i)
    call.arguments.insert(call.arguments.end(), {reads[3 + i], writes[i]});
  constexpr std::int64_t kFlops = 4;
  lowering.add_step(
      {.nodes = {id},
       .algorithm = "element-wise",
       .executed_flops = kFlops * static_cast<std::int64_t>(writes.size()) * weight.elements(),
       .reads = reads,
       .writes = writes},
      binder_of(call));
  return true;
}

// `kept` is declared: whether the element at the result's coordinates is.
constexpr const char* kKeeps = R"(
  unsigned long long bits = {position} + {stream};
  bits += 0x9e3779b97f4a7c15ull;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
  const bool kept = (bits ^ (bits >> 31)) >= {least}ull;
)";
// The stream of a step, from the mixed seed and the step: kernels/dropout.h.
constexpr const char* kStream = R"(
  unsigned long long stream = {seed}ull ^ (unsigned long long){step};
  stream += 0x9e3779b97f4a7c15ull;
  stream = (stream ^ (stream >> 30)) * 0xbf58476d1ce4e5b9ull;
  stream = (stream ^ (stream >> 27)) * 0x94d049bb133111ebull;
  stream ^= stream >> 31;
)";

bool lower_dropout(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const bool is_own = node.domain == kOwnDomain;
  double ratio = static_cast<double>(node.float_or("ratio", 0.5f));
  if (!is_own) {
    const auto trains = node.has_input(2) ? lowering.number(node.inputs[2]) : 0.0;
    const auto given = node.has_input(1) ? lowering.number(node.inputs[1]) : 0.5;
    if (!trains || !given) return false;
    ratio = *trains != 0 ? *given : 0;
    if (ratio == 0) return lower_elementwise(lowering, id);
    if (node.find("seed") == nullptr) return false;
  }
  const Placement x = lowering.native(node.inputs[0]);
  if (!(ratio >= 0 && ratio < 1) || !is_floating(x.type) || x.elements() == 0) return false;
  const auto seed = std::bit_cast<std::uint64_t>(node.int_or("seed", 0));
  const kernels::DropoutMask mask(ratio, seed, 0);
  Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  Operands operands(lowering);
  const auto at = index_names(x.dims);
  const Placement row_major = row_major_placement(x.type, x.dims);
  std::string body;
  std::string stream = fmt::format("{}ull", mask.stream());
  if (is_own) {
    body = fmt::format(kStream, fmt::arg("seed", graph::mixed_bits(seed)),
                       fmt::arg("step", operands.whole(node.inputs[1])));
    stream = "stream";
  }
  body += fmt::format(
      kKeeps,
      fmt::arg("position", fmt::format("(unsigned long long)({})", offset_text(row_major, at))),
      fmt::arg("stream", stream), fmt::arg("least", mask.least()));
  if (node.has_output(1) && lowering.is_read(node.outputs[1])) {
    const std::string name = epilogue.add_more(lowering, node.outputs[1]);
    body += fmt::format("  {}[{}] = {};\n", name, offset_text(row_major, at),
                        stored(epilogue.more.back().type, "kept"));
  }
  const std::string type = computed_type(x.type);
  const std::string sum = fmt::format("(kept ? {} * {} : {})", operands.element(x, at),
                                      number_text(mask.scale(), type), number_text(0, type));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, sum,
                   "own", x.elements());
  return true;
}

}  // namespace

void add_optimizer_lowering(LowerTable& table) {
  for (const char* op : {"assay.Sgd", "assay.Momentum", "assay.Adam"}) table[op] = lower_update;
  table["assay.Dropout"] = lower_dropout;
  table["Dropout"] = lower_dropout;
}

}  // namespace assay::cuda
