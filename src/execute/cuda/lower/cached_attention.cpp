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

// One new token: blocks share the rows of a head, 64 at a time and block, a team of threads for
// each row, and the last block to be done joins what each has found. Rows are asked for before
// their scores are known.
constexpr const char* kAttendToken = R"(
extern "C" __global__ void __launch_bounds__(128) KERNEL({parameters}{stored}* keys, {stored}* values, {stored}* __restrict__ out, int* counts{parts_parameter}) {{
  constexpr int GROUP = {group}, LANES = {lanes}, TEAMS = 128 / LANES, HELD = {chunk} / TEAMS, WIDTH = GROUP * LANES, ROUNDS = {rounds}, SPLITS = {splits};
  typedef Group<{stored}, GROUP> Numbers;
  __shared__ float sums[TEAMS][WIDTH];
  __shared__ float tops[TEAMS], weights[TEAMS];
  __shared__ bool is_last;
  const int head = blockIdx.y % {heads}, batch = blockIdx.y / {heads}, token = 0;
  const int at = threadIdx.x % LANES * GROUP, team = threadIdx.x / LANES;
  {stored}* own_keys = keys + (long long)blockIdx.y * {capacity} * WIDTH;
  {stored}* own_values = values + (long long)blockIdx.y * {capacity} * WIDTH;
  const long long asked = {position};
  const int position = (int)(asked < 0 ? 0 : asked > {capacity} - 1 ? {capacity} - 1 : asked);
  const int rows = position + 1, splits = (rows + ROUNDS * {chunk} - 1) / (ROUNDS * {chunk});
  if ((int)blockIdx.x >= splits) return;
  Numbers key[HELD], value[HELD];
  const auto fetch = [&](int first) {{
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      const int row = first + n * TEAMS + team;
      key[n] = value[n] = Numbers{{}};
      if (row >= position) continue;
      key[n] = *(const Numbers*)(own_keys + (long long)row * WIDTH + at);
      value[n] = *(const Numbers*)(own_values + (long long)row * WIDTH + at);
    }}
  }};
  int first = blockIdx.x * ROUNDS * {chunk};
  fetch(first);
  float query[GROUP], sum[GROUP] = {{}};
#pragma unroll
  for (int j = 0; j < GROUP; ++j) {{
    const int i = at + j;
    query[j] = {query} * {scale};
  }}
  float top = {lowest}, weight = 0;
  for (int round = 0; round < ROUNDS && first < rows; ++round, first += {chunk}) {{
    if (round > 0) fetch(first);
    float scores[HELD], next = top;
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      const int row = first + n * TEAMS + team;
      if (row == position) {{
        for (int j = 0; j < GROUP; ++j) {{
          const int i = at + j;
          key[n].at[j] = {new_key};
          value[n].at[j] = {new_value};
        }}
        *(Numbers*)(own_keys + (long long)row * WIDTH + at) = key[n];
        *(Numbers*)(own_values + (long long)row * WIDTH + at) = value[n];
      }}
      float score = 0;
#pragma unroll
      for (int j = 0; j < GROUP; ++j) score += query[j] * {key_number};
      for (int mask = LANES / 2; mask > 0; mask /= 2) score += __shfl_xor_sync(0xffffffffu, score, mask);
      scores[n] = score;
      if (row < rows) next = larger(next, score);
    }}
    const float fading = next == top ? 1.0f : expf(top - next);
    weight *= fading;
#pragma unroll
    for (int j = 0; j < GROUP; ++j) sum[j] *= fading;
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      const float share = first + n * TEAMS + team < rows ? expf(scores[n] - next) : 0.0f;
      weight += share;
#pragma unroll
      for (int j = 0; j < GROUP; ++j) sum[j] += share * {value_number};
    }}
    top = next;
  }}
#pragma unroll
  for (int j = 0; j < GROUP; ++j) sums[team][at + j] = sum[j];
  if (at == 0) {{
    tops[team] = top;
    weights[team] = weight;
  }}
  __syncthreads();
  const int i = threadIdx.x;
  float all = 0, all_weight = 0, highest = tops[0];
  for (int t = 1; t < TEAMS; ++t) highest = larger(highest, tops[t]);
  for (int t = 0; t < TEAMS; ++t) {{
    const float factor = weights[t] == 0 ? 0.0f : expf(tops[t] - highest);
    all_weight += factor * weights[t];
    if (i < WIDTH) all += factor * sums[t][i];
  }}
{joining}  if (i < WIDTH) out[{result}] = {number};
}}
)";

constexpr const char* kJoinSplits = R"(  if (splits > 1) {{
    float* own = parts + ((long long)blockIdx.y * SPLITS + blockIdx.x) * (WIDTH + 2);
    if (i < WIDTH) own[i] = all;
    if (i == 0) {{
      own[WIDTH] = all_weight;
      own[WIDTH + 1] = highest;
    }}
    __threadfence();
    __syncthreads();
    if (i == 0) is_last = atomicAdd(&counts[blockIdx.y], 1) == splits - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    if (i == 0) counts[blockIdx.y] = 0;
    // A lane has the share of one block; all numbers are asked for at once.
    const float* of_all = parts + (long long)blockIdx.y * SPLITS * (WIDTH + 2);
    const int lane = i % 32;
    float found[SPLITS], own_top = {lowest}, own_weight = 0;
    if (lane < splits) {{
      own_weight = read_fresh(of_all + lane * (WIDTH + 2) + WIDTH);
      own_top = read_fresh(of_all + lane * (WIDTH + 2) + WIDTH + 1);
    }}
#pragma unroll
    for (int s = 0; s < SPLITS; ++s) {{
      found[s] = 0;
      if (s < splits && i < WIDTH) found[s] = read_fresh(of_all + s * (WIDTH + 2) + i);
    }}
    highest = together<Larger, 32>(own_top);
    const float factor = lane < splits ? expf(own_top - highest) : 0.0f;
    all_weight = together<Plus, 32>(factor * own_weight);
    all = 0;
#pragma unroll
    for (int s = 0; s < SPLITS; ++s) all += __shfl_sync(0xffffffffu, factor, s) * found[s];
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

constexpr std::int64_t kTokenRows = 64;  // rows of a block at a time
constexpr std::int64_t kTokenThreads = 128;

// A row is read by so many threads, 16 bytes each; nothing if that is not possible.
std::optional<std::int64_t> lanes_of(const Lowering& lowering, const Node& node) {
  const DataType type = lowering.type(node.inputs[0]);
  const Dims keys = lowering.dims(node.inputs[3]);
  const Dims values = lowering.dims(node.inputs[4]);
  const std::int64_t group = 128 / bits(type);
  const std::int64_t pairs = keys[0] * keys[1];
  constexpr std::int64_t kMostPairs = 65535;
  const bool fits = lowering.dims(node.inputs[0])[2] == 1 && computed_type(type) == "float" &&
                    keys[3] == values[3] && keys[3] % group == 0 && keys[3] <= kTokenThreads &&
                    pairs <= kMostPairs;
  const std::int64_t lanes = keys[3] / group;
  constexpr std::int64_t kFewest = 4;  // so that few rows are held by a thread
  const bool is_power_of_two = (lanes & (lanes - 1)) == 0;
  if (!fits || lanes < kFewest || lanes > 32 || !is_power_of_two) return {};
  return lanes;
}

void add_token_attention(Lowering& lowering, NodeId id, std::int64_t lanes) {
  const Node& node = lowering.node(id);
  const Placement query = lowering.native(node.inputs[0]);
  const Placement key = lowering.native(node.inputs[1]);
  const Placement value = lowering.native(node.inputs[2]);
  std::vector<KernelCall> calls;
  const Placement keys = cache_of(lowering, id, 3, calls);
  const Placement values = cache_of(lowering, id, 4, calls);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const std::int64_t capacity = keys.dims[2];
  const std::int64_t width = keys.dims[3];
  const std::int64_t heads = keys.dims[1];
  const std::int64_t pairs = keys.dims[0] * heads;
  // Long caches are shared by no more blocks than their results are worth joining.
  constexpr std::int64_t kMostSplits = 32;
  const std::int64_t rounds =
      (capacity + kTokenRows * kMostSplits - 1) / (kTokenRows * kMostSplits);
  const std::int64_t splits = (capacity + kTokenRows * rounds - 1) / (kTokenRows * rounds);
  const bool is_split = splits > 1;
  Operands operands(lowering);
  const auto element = [&](const Placement& from) {
    return operands.element(from, std::vector<std::string>{"batch", "head", "token", "i"});
  };
  const std::string position = operands.whole(node.inputs[5]);
  const std::string new_key = stored(query.type, element(key));
  const std::string new_value = stored(query.type, element(value));
  const std::string query_text = element(query);
  const std::string text = fmt::format(
      kAttendToken, fmt::arg("parameters", operands.parameters()),
      fmt::arg("stored", stored_type(query.type)),
      fmt::arg("parts_parameter", is_split ? ", float* parts" : ""),
      fmt::arg("group", width / lanes), fmt::arg("lanes", lanes), fmt::arg("chunk", kTokenRows),
      fmt::arg("rounds", rounds), fmt::arg("splits", splits), fmt::arg("heads", heads),
      fmt::arg("capacity", capacity), fmt::arg("position", position), fmt::arg("query", query_text),
      fmt::arg("scale", number_text(node.float_or("scale", 1), "float")),
      fmt::arg("lowest", number_text(-INFINITY, "float")), fmt::arg("new_key", new_key),
      fmt::arg("new_value", new_value), fmt::arg("key_number", loaded(query.type, "key[n].at[j]")),
      fmt::arg("value_number", loaded(query.type, "value[n].at[j]")),
      fmt::arg("joining",
               is_split
                   ? fmt::format(kJoinSplits, fmt::arg("lowest", number_text(-INFINITY, "float")))
                   : std::string()),
      fmt::arg("result",
               offset_text(result, std::vector<std::string>{"batch", "head", "token", "i"})),
      fmt::arg("number", stored(query.type, "all / all_weight")));
  // Blocks that are done; zeros before and after each run.
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(pairs), 0);
  const Placement counts =
      lowering.weight(Tensor::of(DataType::Int32, {pairs}, std::span<const std::int32_t>(zeros)));
  KernelCall call{lowering.kernels().add(text, true),
                  {.blocks = {static_cast<unsigned>(splits), static_cast<unsigned>(pairs), 1},
                   .threads = static_cast<unsigned>(kTokenThreads)},
                  operands.reads()};
  call.arguments.insert(call.arguments.end(), {keys, values, result, counts});
  StepDraft draft{.nodes = {id},
                  .algorithm = is_split ? "in place, split" : "in place",
                  .executed_flops = 2 * (query.elements() + result.elements()) * capacity,
                  .reads = operands.reads(),
                  .writes = {result, key, value},
                  .workspace = {keys.buffer, values.buffer}};
  draft.reads.insert(draft.reads.end(), {keys, values});
  if (is_split) {
    const BufferId parts = lowering.new_buffer(pairs * splits * (width + 2) *
                                               static_cast<std::int64_t>(sizeof(float)));
    call.arguments.push_back({.buffer = parts, .dims = {}, .strides = {}});
    draft.workspace.push_back(parts);
  }
  calls.push_back(call);
  lowering.add_step(draft, binder_of(calls));
  lowering.set_placement(node.outputs[0], result);
  lowering.set_placement(node.outputs[1], keys);
  lowering.set_placement(node.outputs[2], values);
}

bool lower_cached_attention(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!fits(lowering, node)) return false;
  if (const auto lanes = lanes_of(lowering, node)) {
    add_token_attention(lowering, id, *lanes);
    return true;
  }
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
