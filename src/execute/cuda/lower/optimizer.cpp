// Sgd, Momentum and Adam: parameters and states are written over where they lie, many by one
// kernel. And Dropout in training, which drops what a seed, the step and the position say.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

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
enum UpdateInput { kRate, kStep, kParameter, kGradient, kStates };

std::vector<std::size_t> changed_inputs(const Node& node) {
  std::vector<std::size_t> changed = {kParameter};
  for (std::size_t i = kStates; i < node.inputs.size(); ++i) changed.push_back(i);
  return changed;
}

std::string changed_name(std::size_t i) {
  return i == 0 ? "weight" : fmt::format("state{}", i - 1);
}

constexpr std::int64_t kUpdateFlops = 4;  // of each number that changes

// A state that others still read gets a new place.
void add_single_update(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement gradient = lowering.native(node.inputs[kGradient]);
  std::vector<Placement> reads = {lowering.native(node.inputs[kRate]),
                                  lowering.native(node.inputs[kStep]), gradient};
  std::string parameters = parameter_text(reads[0], "rate_at") +
                           parameter_text(reads[1], "step_at") +
                           parameter_text(gradient, "gradient_at");
  std::string loads;
  std::string stores;
  std::vector<Placement> writes;
  const auto changed = changed_inputs(node);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const ValueId input = node.inputs[changed[i]];
    const std::string name = changed_name(i);
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
  lowering.add_step({.nodes = {id},
                     .algorithm = "element-wise",
                     .executed_flops = kUpdateFlops * static_cast<std::int64_t>(writes.size()) *
                                       weight.elements(),
                     .reads = reads,
                     .writes = writes},
                    binder_of(call));
}

// One parameter of many, as the kernel reads it: words of 64 bits.
constexpr std::size_t kUpdateAxes = 4;
enum UpdateWord {
  kGradientWord,
  kChangedWords,  // the parameter, its states
  kCountWord = kChangedWords + 3,
  kFirstBlockWord,
  kLengthWords,
  kStrideWords = kLengthWords + kUpdateAxes,
  kUpdateWords = kStrideWords + kUpdateAxes
};
constexpr std::int64_t kElementsPerBlock = 8 * kBlockThreads;

struct PlacedUpdate {
  Placement gradient;
  std::vector<Placement> changed;
  std::vector<std::uint64_t> words;  // without addresses
};

// How the gradient lies, in the order of the parameter; nothing if that takes too many axes.
std::optional<Walk> gradient_walk(const Placement& parameter, const Placement& gradient) {
  const Walk walk = walk_over(std::vector{parameter, gradient});
  const bool fits = walk.lengths.size() <= kUpdateAxes && walk.is_short();
  return fits ? std::optional(walk) : std::nullopt;
}

bool can_update_together(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  for (const std::size_t input : changed_inputs(node))
    if (!lowering.may_replace(node.inputs[input], id) ||
        !lowering.native(node.inputs[input]).is_row_major())
      return false;
  for (const ValueId output : node.outputs)
    if (!lowering.readers(output).empty()) return false;
  return gradient_walk(lowering.native(node.inputs[kParameter]),
                       lowering.native(node.inputs[kGradient]))
      .has_value();
}

PlacedUpdate placed_update(Lowering& lowering, NodeId id, std::int64_t first_block) {
  const Node& node = lowering.node(id);
  PlacedUpdate update{.gradient = lowering.native(node.inputs[kGradient]),
                      .changed = {},
                      .words = std::vector<std::uint64_t>(kUpdateWords, 0)};
  for (const std::size_t input : changed_inputs(node))
    update.changed.push_back(lowering.native(node.inputs[input]));
  const Walk walk = *gradient_walk(update.changed[0], update.gradient);
  update.words[kCountWord] = static_cast<std::uint64_t>(walk.elements);
  update.words[kFirstBlockWord] = static_cast<std::uint64_t>(first_block);
  const std::size_t missing = kUpdateAxes - walk.lengths.size();
  for (std::size_t axis = 0; axis < kUpdateAxes; ++axis) {
    const bool is_there = axis >= missing;
    update.words[kLengthWords + axis] =
        is_there ? static_cast<std::uint64_t>(walk.lengths[axis - missing]) : 1;
    update.words[kStrideWords + axis] =
        is_there ? static_cast<std::uint64_t>(walk.strides[1][axis - missing]) : 0;
  }
  return update;
}

// A block finds the parameter that it changes a part of.
std::string many_updates_text(const Node& node, const Placement& step, std::size_t count) {
  std::string pointers;
  std::string loads;
  std::string stores;
  for (std::size_t i = 0; i < changed_inputs(node).size(); ++i) {
    const std::string name = changed_name(i);
    pointers += fmt::format("  float* {}_at = (float*)one[{}];\n", name, kChangedWords + i);
    loads += fmt::format("    float {0} = {0}_at[element];\n", name);
    stores += fmt::format("    {0}_at[element] = {0};\n", name);
  }
  return fmt::format(
      R"(
extern "C" __global__ void KERNEL(const float* rate_at, const {step_type}* step_at, const unsigned long long* all) {{
  int low = 0, high = {last};
  while (low < high) {{
    const int middle = (low + high + 1) / 2;
    if (all[middle * {words} + {first}] <= blockIdx.x) low = middle; else high = middle - 1;
  }}
  const unsigned long long* one = all + low * {words};
  const float* gradient_at = (const float*)one[{gradient}];
{pointers}  const unsigned count = (unsigned)one[{count}];
  const unsigned start = (unsigned)(blockIdx.x - one[{first}]) * {per_block};
  const bool is_dense = one[{lengths} + {axes} - 1] == count && one[{strides} + {axes} - 1] == 1;
  const float rate = *rate_at, step = (float)*step_at;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < {per_block}; i += {threads}) {{
    const unsigned element = start + i;
    if (element >= count) break;
    unsigned rest = element;
    long long at = element;
    if (!is_dense) {{
      at = 0;
      for (int axis = {axes} - 1; axis >= 0; --axis) {{
        const unsigned length = (unsigned)one[{lengths} + axis];
        at += (long long)(rest % length) * (long long)one[{strides} + axis];
        rest /= length;
      }}
    }}
    const float gradient = gradient_at[at];
{loads}{update}{stores}  }}
}}
)",
      fmt::arg("step_type", stored_type(step.type)), fmt::arg("last", count - 1),
      fmt::arg("words", static_cast<int>(kUpdateWords)),
      fmt::arg("first", static_cast<int>(kFirstBlockWord)),
      fmt::arg("gradient", static_cast<int>(kGradientWord)), fmt::arg("pointers", pointers),
      fmt::arg("count", static_cast<int>(kCountWord)), fmt::arg("per_block", kElementsPerBlock),
      fmt::arg("lengths", static_cast<int>(kLengthWords)), fmt::arg("axes", kUpdateAxes),
      fmt::arg("strides", static_cast<int>(kStrideWords)), fmt::arg("threads", kBlockThreads),
      fmt::arg("loads", loads), fmt::arg("update", update_text(node)), fmt::arg("stores", stores));
}

// The kernel reads from a table where everything lies.
Binder binder_of_updates(const gpu::Device& device, const KernelCall& call,
                         std::vector<PlacedUpdate> updates) {
  return [&device, call, updates = std::move(updates)](const Addresses& at) -> Runner {
    std::vector<std::uint64_t> table;
    for (const PlacedUpdate& update : updates) {
      std::vector<std::uint64_t> words = update.words;
      words[kGradientWord] = at.of(update.gradient);
      for (std::size_t i = 0; i < update.changed.size(); ++i)
        words[kChangedWords + i] = at.of(update.changed[i]);
      table.insert(table.end(), words.begin(), words.end());
    }
    const auto bytes = std::as_bytes(std::span(table));
    auto memory = std::make_shared<gpu::Memory>(device, static_cast<std::int64_t>(bytes.size()),
                                                "addresses of parameters");
    const gpu::Stream stream(device);
    stream.copy_in(memory->address(), bytes);
    stream.wait("copying addresses of parameters");
    const std::vector<std::uint64_t> arguments = {at.of(call.arguments[0]),
                                                  at.of(call.arguments[1]), memory->address()};
    return [memory, arguments, function = at.kernels().function(call.kernel), shape = call.shape](
               const gpu::Stream& on) { gpu::launch(on, function, shape, arguments); };
  };
}

void add_updates_together(Lowering& lowering, const std::vector<NodeId>& ids) {
  const Node& first = lowering.node(ids.front());
  const Placement rate = lowering.native(first.inputs[kRate]);
  const Placement step = lowering.native(first.inputs[kStep]);
  StepDraft draft{.nodes = ids, .algorithm = "many at once", .reads = {rate, step}};
  std::vector<PlacedUpdate> updates;
  std::int64_t blocks = 0;
  for (const NodeId id : ids) {
    updates.push_back(placed_update(lowering, id, blocks));
    const PlacedUpdate& update = updates.back();
    const std::int64_t elements = update.changed[0].elements();
    blocks += (elements + kElementsPerBlock - 1) / kElementsPerBlock;
    draft.executed_flops +=
        kUpdateFlops * static_cast<std::int64_t>(update.changed.size()) * elements;
    draft.reads.push_back(update.gradient);
    draft.reads.insert(draft.reads.end(), update.changed.begin(), update.changed.end());
    draft.writes.insert(draft.writes.end(), update.changed.begin(), update.changed.end());
  }
  const KernelCall call{lowering.kernels().add(many_updates_text(first, step, ids.size())),
                        {.blocks = {static_cast<unsigned>(blocks), 1, 1}, .threads = kBlockThreads},
                        {rate, step}};
  lowering.add_step(draft, binder_of_updates(lowering.device(), call, std::move(updates)));
}

bool is_same_rule(const Node& a, const Node& b) {
  return a.op == b.op && a.attributes == b.attributes && a.inputs.size() == b.inputs.size() &&
         a.inputs[kRate] == b.inputs[kRate] && a.inputs[kStep] == b.inputs[kStep];
}

// Gradients live until their updates run: so many bytes of them may wait.
constexpr std::int64_t kMostWaitingBytes = std::int64_t{64} << 20;

bool is_waiting_enough(const Lowering& lowering, const std::vector<NodeId>& waiting) {
  std::int64_t bytes = 0;
  for (const NodeId id : waiting)
    bytes +=
        row_major_placement(DataType::Float32, lowering.dims(lowering.node(id).outputs[0])).bytes();
  return bytes >= kMostWaitingBytes;
}

bool lower_update(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const std::size_t states = node.outputs.size() - 1;
  if (node.inputs.size() != states + kStates || states > 2) return false;
  for (std::size_t i = kParameter; i < node.inputs.size(); ++i)
    if (lowering.type(node.inputs[i]) != DataType::Float32) return false;
  for (const std::size_t input : {kRate, kStep}) lowering.native(node.inputs[input]);
  if (!can_update_together(lowering, id)) {
    add_single_update(lowering, id);
    return true;
  }
  const auto changed = changed_inputs(node);
  for (std::size_t i = 0; i < changed.size(); ++i)
    lowering.set_placement(node.outputs[i], lowering.native(node.inputs[changed[i]]));
  lowering.waiting_updates().push_back(id);
  if (is_waiting_enough(lowering, lowering.waiting_updates())) add_waiting_updates(lowering);
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

void add_waiting_updates(Lowering& lowering) {
  std::vector<NodeId> waiting = std::exchange(lowering.waiting_updates(), {});
  while (!waiting.empty()) {
    const Node& first = lowering.node(waiting.front());
    const auto rest = std::ranges::stable_partition(
        waiting, [&](NodeId id) { return is_same_rule(lowering.node(id), first); });
    const std::vector<NodeId> alike(waiting.begin(), rest.begin());
    add_updates_together(lowering, alike);
    waiting.erase(waiting.begin(), rest.begin());
  }
}

void add_optimizer_lowering(LowerTable& table) {
  for (const char* op : {"assay.Sgd", "assay.Momentum", "assay.Adam"}) table[op] = lower_update;
  table["assay.Dropout"] = lower_dropout;
  table["Dropout"] = lower_dropout;
}

}  // namespace assay::cuda
