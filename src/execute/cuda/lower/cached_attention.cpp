// Attention of new tokens over a cache of keys and values: new rows are written into the cache
// where they belong, and only rows that are filled are read. A block computes one token of a head.
#include <fmt/core.h>

#include <cmath>

#include "base/checked.h"
#include "execute/cuda/chain.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr const char* kAttend = R"(
extern "C" __global__ void KERNEL({parameters}{stored}* __restrict__ keys, {stored}* __restrict__ values, {stored}* __restrict__ out{scores_parameter}) {{
{scores}  __shared__ {type} parts[256];
  const int token = blockIdx.x % {tokens}, head = blockIdx.x / {tokens} % {heads}, batch = blockIdx.x / {per_batch};
  const long long asked = {position};
  const int position = (int)(asked < 0 ? 0 : asked > {capacity} - {tokens} ? {capacity} - {tokens} : asked);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  {stored}* own_keys = keys + (long long)(batch * {heads} + head) * {capacity} * {key_width};
  {stored}* own_values = values + (long long)(batch * {heads} + head) * {capacity} * {value_width};
  for (int i = threadIdx.x; i < {key_width}; i += 256) own_keys[(position + token) * {key_width} + i] = {new_key};
  for (int i = threadIdx.x; i < {value_width}; i += 256) own_values[(position + token) * {value_width} + i] = {new_value};
  const int rows = position + token + 1;
  for (int row = warp; row < rows; row += 8) {{
    {type} sum = 0;
    for (int i = lane; i < {key_width}; i += 32) sum += {query} * (row < position ? {old_key} : {fresh_key});
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane == 0) scores[row] = sum * {scale};
  }}
  __syncthreads();
  {type} largest = {lowest}, sum = 0;
  for (int row = threadIdx.x; row < rows; row += 256) largest = larger(largest, scores[row]);
  largest = together<Larger, 256>(largest);
  for (int row = threadIdx.x; row < rows; row += 256) {{
    const {type} share = exp(scores[row] - largest);
    scores[row] = share;
    sum += share;
  }}
  sum = together<Plus, 256>(sum);
  __syncthreads();
  for (int first = 0; first < {value_width}; first += {columns}) {{
    const int i = first + threadIdx.x % {columns};
    {type} part = 0;
    for (int row = threadIdx.x / {columns}; row < rows && i < {value_width}; row += 256 / {columns})
      part += scores[row] * (row < position ? {old_value} : {fresh_value});
    parts[threadIdx.x] = part;
    __syncthreads();
    if (threadIdx.x < {columns} && i < {value_width}) {{
      {type} all = 0;
      for (int part = 0; part < 256 / {columns}; ++part) all += parts[part * {columns} + threadIdx.x];
      out[{result}] = {number};
    }}
    __syncthreads();
  }}
}}
)";

// The cache that a step appends to: the old one where nothing else needs it, else a copy.
Placement cache_of(Lowering& lowering, NodeId id, std::size_t input,
                   std::vector<KernelCall>& calls) {
  const Node& node = lowering.node(id);
  const ValueId old = node.inputs[input];
  const bool in_place = lowering.may_replace(old, id);
  const Placement from = in_place ? lowering.row_major(old) : lowering.native(old);
  if (in_place) return from;
  const Placement to = lowering.in_new_buffer(row_major_placement(from.type, from.dims));
  const KernelText copy = copy_kernel(from, to);
  calls.push_back({lowering.kernels().add(copy.text), copy.shape, {from, to}});
  return to;
}

bool fits(const Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 6 || node.outputs.size() < 3) return false;
  const DataType type = lowering.type(node.inputs[0]);
  for (std::size_t i = 0; i < 5; ++i) {
    const ValueId id = node.inputs[i];
    if (!id.is_valid() || lowering.type(id) != type) return false;
    const Dims dims = lowering.dims(id);
    if (dims.size() != 4 || checked_product(dims).value_or(0) == 0) return false;
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (!node.has_output(i)) return false;
  return is_floating(type) && lowering.dims(node.inputs[3])[2] == lowering.dims(node.inputs[4])[2];
}

bool lower_cached_attention(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!fits(lowering, node)) return false;
  const Placement query = lowering.native(node.inputs[0]);
  const Placement key = lowering.native(node.inputs[1]);
  const Placement value = lowering.native(node.inputs[2]);
  std::vector<KernelCall> calls;
  const Placement keys = cache_of(lowering, id, 3, calls);
  const Placement values = cache_of(lowering, id, 4, calls);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const std::int64_t capacity = keys.dims[2];
  const std::int64_t key_width = keys.dims[3];
  const std::int64_t value_width = values.dims[3];
  const std::int64_t tokens = query.dims[2];
  const std::int64_t heads = query.dims[1];
  const std::int64_t blocks = query.dims[0] * heads * tokens;
  const std::string type = computed_type(query.type);
  // What a block may have without asking for more.
  constexpr std::int64_t kMostShared = 40 << 10;
  const std::int64_t bytes = capacity * (type == "double" ? 8 : 4);
  const bool is_shared = bytes <= kMostShared;
  const BufferId scores = is_shared ? BufferId{} : lowering.new_buffer(blocks * bytes);
  Operands operands(lowering);
  const auto element = [&](const Placement& from, const char* row, const char* at) {
    return operands.element(from, std::vector<std::string>{"batch", "head", row, at});
  };
  const auto cached = [&](const char* name, std::int64_t width) {
    return loaded(query.type, fmt::format("{}[row * {} + i]", name, width));
  };
  const std::string position = operands.whole(node.inputs[5]);
  const std::string new_key = element(key, "token", "i");
  const std::string new_value = element(value, "token", "i");
  const std::string query_text = element(query, "token", "i");
  const std::string text = fmt::format(
      kAttend, fmt::arg("parameters", operands.parameters()),
      fmt::arg("stored", stored_type(query.type)), fmt::arg("type", type),
      fmt::arg("scores_parameter",
               is_shared ? std::string() : fmt::format(", {}* __restrict__ all_scores", type)),
      fmt::arg("scores",
               is_shared ? fmt::format("  __shared__ {} scores[{}];\n", type, capacity)
                         : fmt::format("  {}* scores = all_scores + (long long)blockIdx.x * {};\n",
                                       type, capacity)),
      fmt::arg("tokens", tokens), fmt::arg("heads", heads), fmt::arg("per_batch", heads * tokens),
      fmt::arg("position", position), fmt::arg("capacity", capacity),
      fmt::arg("key_width", key_width), fmt::arg("value_width", value_width),
      fmt::arg("new_key", stored(query.type, new_key)),
      fmt::arg("new_value", stored(query.type, new_value)), fmt::arg("query", query_text),
      fmt::arg("old_key", cached("own_keys", key_width)),
      fmt::arg("fresh_key", element(key, "row - position", "i")),
      fmt::arg("scale", number_text(node.float_or("scale", 1), type)),
      fmt::arg("lowest", number_text(-INFINITY, type)),
      fmt::arg("columns", value_width <= 32   ? 32
                          : value_width <= 64 ? 64
                                              : 128),
      fmt::arg("old_value", cached("own_values", value_width)),
      fmt::arg("fresh_value", element(value, "row - position", "i")),
      fmt::arg("result",
               offset_text(result, std::vector<std::string>{"batch", "head", "token", "i"})),
      fmt::arg("number", stored(query.type, "all / sum")));
  KernelCall call{lowering.kernels().add(text, true),
                  {.blocks = {static_cast<unsigned>(blocks), 1, 1}, .threads = kBlockThreads},
                  operands.reads()};
  call.arguments.insert(call.arguments.end(), {keys, values, result});
  if (!is_shared) call.arguments.push_back({.buffer = scores, .dims = {}, .strides = {}});
  calls.push_back(call);
  StepDraft draft{.nodes = {id},
                  .algorithm = "in place",
                  .executed_flops = 2 * (query.elements() + result.elements()) * capacity,
                  .reads = operands.reads(),
                  .writes = {result, key, value},
                  .workspace = {keys.buffer, values.buffer}};
  draft.reads.insert(draft.reads.end(), {keys, values});
  if (!is_shared) draft.workspace.push_back(scores);
  lowering.add_step(draft, binder_of(calls));
  lowering.set_placement(node.outputs[0], result);
  lowering.set_placement(node.outputs[1], keys);
  lowering.set_placement(node.outputs[2], values);
  return true;
}

}  // namespace

void add_cached_attention_lowering(LowerTable& table) {
  table["assay.CachedAttention"] = lower_cached_attention;
}

}  // namespace assay::cuda
