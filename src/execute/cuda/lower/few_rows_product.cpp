#include "execute/cuda/lower/few_rows_product.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/lower/product.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"
#include "memory/sharing.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kMostRows = 4;
constexpr std::int64_t kMostSlices = 16;
constexpr std::int64_t kWarpThreads = 32;
constexpr std::int64_t kWarpsOfABlock = 4;

constexpr const char* kFewRowsText = R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameters}) {{
  constexpr int DEPTH = {depth}, COLUMNS = {columns}, ROWS = {rows}, GROUP = {group}, HELD = {held};
  constexpr int SLICES = {slices}, SLICE = {slice}, TEAMS = {teams}, TOGETHER = {together};
  constexpr int COUNT = TOGETHER * ROWS, OF_A_BLOCK = TEAMS * TOGETHER;
  typedef Group<{stored}, GROUP> Numbers;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slice = warp % SLICES;
  const int begin = slice * SLICE, end = min(begin + SLICE, DEPTH);
  Numbers weights[TOGETHER][HELD];
  const auto fetch = [&](int first) {{
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {{
      const long long column = min(first + c, COLUMNS - 1);
#pragma unroll
      for (int n = 0; n < HELD; ++n) {{
        const int k = begin + (n * 32 + lane) * GROUP;
        weights[c][n] = Numbers{{}};
        if (k < end) weights[c][n] = read_once((const Numbers*)(b + column * {column_stride}ll + k));
      }}
    }}
  }};
  int base = blockIdx.x * OF_A_BLOCK;
  const int own = warp / SLICES * TOGETHER;
  fetch(base + own);
{norm_vectors}  float held[ROWS][HELD][GROUP];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {{
    const int z = r / {rows_of_one}, row = r % {rows_of_one};
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      const int k = begin + (n * 32 + lane) * GROUP;
      Numbers numbers = {{}};
      if (k < end) numbers = *(const Numbers*)(a + {a_at});
#pragma unroll
      for (int j = 0; j < GROUP; ++j) held[r][n][j] = {loaded};
    }}
{norm}  }}
  while (true) {{
    float sums[TOGETHER][ROWS] = {{}};
#pragma unroll
    for (int c = 0; c < TOGETHER; ++c) {{
#pragma unroll
      for (int n = 0; n < HELD; ++n) {{
#pragma unroll
        for (int j = 0; j < GROUP; ++j) {{
          const float weight = {weight};
#pragma unroll
          for (int r = 0; r < ROWS; ++r) sums[c][r] += held[r][n][j] * weight;
        }}
      }}
    }}
    const int here = base + own;
    base += gridDim.x * OF_A_BLOCK;
    if (base < COLUMNS) fetch(base + own);
    float mine = 0;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {{
      const float all = together<Plus, 32>(sums[i / ROWS][i % ROWS]);
      if (lane == i) mine = all;
    }}
{joining}    const int column = here + lane / ROWS;
    if (slice == 0 && lane < COUNT && column < COLUMNS) {{
      const int z = lane % ROWS / {rows_of_one}, row = lane % ROWS % {rows_of_one};
      const float sum = mine;
{store}    }}
    if (base >= COLUMNS) break;
  }}
}}
)";

// Warps that share columns add what each has of them.
constexpr const char* kJoinSlices = R"(    __shared__ float parts[SLICES * TEAMS][COUNT];
    if (lane < COUNT) parts[warp][lane] = mine;
    __syncthreads();
    if (slice == 0 && lane < COUNT) {
      for (int i = 1; i < SLICES; ++i) mine += parts[warp + i][lane];
    }
    __syncthreads();
)";

constexpr const char* kRowNormVectors = R"(  Numbers scales[HELD], shifts[HELD];
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    const int k = (n * 32 + lane) * GROUP;
    if (k < DEPTH) scales[n] = *(const Numbers*)(scale + k);
{shifts}  }}
)";

constexpr const char* kRowNorm = R"(    float mean = 0;
#pragma unroll
    for (int n = 0; n < HELD; ++n)
#pragma unroll
      for (int j = 0; j < GROUP; ++j) mean += held[r][n][j];
    mean = together<Plus, 32>(mean) / DEPTH;
    float square = 0;
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      if ((n * 32 + lane) * GROUP >= DEPTH) continue;
#pragma unroll
      for (int j = 0; j < GROUP; ++j) square += (held[r][n][j] - mean) * (held[r][n][j] - mean);
    }}
    const float scaled_by = 1.0f / sqrtf(together<Plus, 32>(square) / DEPTH + {epsilon});
#pragma unroll
    for (int n = 0; n < HELD; ++n) {{
      if ((n * 32 + lane) * GROUP >= DEPTH) continue;
#pragma unroll
      for (int j = 0; j < GROUP; ++j) held[r][n][j] = (held[r][n][j] - mean) * scaled_by * {scaled}{shifted};
    }}
)";

// How the work is divided.
struct RowsDivision {
  std::int64_t rows = 0;
  std::int64_t group = 0;   // numbers of 16 bytes
  std::int64_t held = 0;    // groups of a row in a thread
  std::int64_t slices = 1;  // warps that share a column
  std::int64_t slice = 0;   // numbers of a column that one of them reads
  std::int64_t teams = 1;
  std::int64_t together = 1;  // columns at a time
  std::int64_t blocks = 0;

  unsigned threads() const { return static_cast<unsigned>(kWarpThreads * slices * teams); }
};

std::int64_t shares_of(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Numbers of a row that a thread has in registers.
std::int64_t most_held(std::int64_t rows) {
  return rows <= 2 ? 32 : 24;
}

RowsDivision rows_division_of(const ProductView& view, DataType type,
                              std::int64_t multiprocessors) {
  RowsDivision how{.rows = view.batches() * view.rows, .group = 128 / bits(type)};
  const std::int64_t of_a_warp = most_held(how.rows) * kWarpThreads;
  how.slices = shares_of(view.depth, of_a_warp);
  how.held = shares_of(shares_of(view.depth, how.slices), kWarpThreads * how.group);
  how.slice = how.held * kWarpThreads * how.group;
  how.slices = shares_of(view.depth, how.slice);
  how.teams = std::max<std::int64_t>(1, kWarpsOfABlock / how.slices);
  // As many warps as keep all multiprocessors busy, then more columns for each.
  constexpr std::int64_t kEnoughWarps = 8;
  constexpr std::int64_t kMostLoads = 12;  // of a thread at a time
  constexpr std::int64_t kMostSums = 8;
  const std::int64_t most = std::min(kMostLoads / how.held, kMostSums / how.rows);
  how.together =
      std::clamp<std::int64_t>(view.columns * how.slices / (multiprocessors * kEnoughWarps), 1,
                               std::max<std::int64_t>(1, most));
  constexpr std::int64_t kBlocksAtOnce = 4;
  how.blocks =
      std::min(shares_of(view.columns, how.teams * how.together), multiprocessors * kBlocksAtOnce);
  return how;
}

// A layer normalisation of the rows, and its vectors.
struct RowNorm {
  NodeId node;
  Placement scale;
  std::optional<Placement> shift = {};
  std::vector<NodeId> moves = {};  // views of it, before the product
};

struct FewRows {
  ProductView view;
  RowsDivision how;
  std::optional<RowNorm> norm = {};
};

// The stored weights with a column's numbers side by side; nothing if they are computed.
std::optional<Placement> weights_by_columns(Lowering& lowering, const Node& node) {
  const ValueId id = node.inputs[1];
  const Tensor* tensor = lowering.constant(id);
  const bool lies_by_rows = node.int_or("transB", 0) == 0;
  if (tensor != nullptr && lies_by_rows && tensor->dims().size() == 2)
    return lowering.weight_by_columns(*tensor);
  if (tensor == nullptr && !lowering.has_placement(id)) return {};
  const Placement native = lowering.native(id);
  if (!lowering.buffers().is_fixed(native.buffer)) return {};
  return native;
}

bool is_few(const Lowering& lowering, const Node& node) {
  const DataType type = lowering.type(node.inputs[0]);
  const Dims a = lowering.dims(node.inputs[0]);
  const Dims b = lowering.dims(node.inputs[1]);
  const bool is_float = is_floating(type) && computed_type(type) == "float";
  if (!is_float || lowering.type(node.inputs[1]) != type) return false;
  if (a.size() < 2 || b.size() != 2 || node.int_or("transA", 0) != 0) return false;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < a.size(); ++axis) rows *= a[axis];
  return rows >= 1 && rows <= kMostRows && a.back() > 0 && a.back() % (128 / bits(type)) == 0 &&
         a.back() <= kMostSlices * most_held(rows) * kWarpThreads && b[0] > 0 && b[1] > 0;
}

std::optional<FewRows> few_rows_of(Lowering& lowering, const Node& node, const Placement& rows) {
  const auto weights = weights_by_columns(lowering, node);
  if (!weights) return {};
  FewRows few{.view = product_view_of(rows, *weights, node, lowering.dims(node.outputs[0])),
              .how = {}};
  few.how = rows_division_of(few.view, rows.type, lowering.device().facts().multiprocessors);
  const std::size_t rank = few.view.a.dims.size();
  if (!lies_in_groups(few.view.a, rank - 1, few.how.group) ||
      !lies_in_groups(few.view.b, rank - 2, few.how.group))
    return {};
  return few;
}

std::string norm_vectors_text(const RowNorm& norm) {
  return fmt::format(
      kRowNormVectors,
      fmt::arg("shifts",
               norm.shift ? "    if (k < DEPTH) shifts[n] = *(const Numbers*)(shift + k);\n" : ""));
}

std::string norm_text(const Lowering& lowering, const RowNorm& norm) {
  const float epsilon = lowering.node(norm.node).float_or("epsilon", 1e-5f);
  return fmt::format(
      kRowNorm, fmt::arg("epsilon", number_text(epsilon, "float")),
      fmt::arg("scaled", loaded(norm.scale.type, "scales[n].at[j]")),
      fmt::arg("shifted",
               norm.shift ? " + " + loaded(norm.shift->type, "shifts[n].at[j]") : std::string()));
}

void add_few_rows_step(Lowering& lowering, NodeId id, const FewRows& few) {
  const Node& node = lowering.node(id);
  const ProductView& view = few.view;
  const RowsDivision& how = few.how;
  const auto at_result = result_coordinates(view);
  const ScaledSum scaled = scaled_sum(lowering, node, "float", at_result);
  const Epilogue epilogue = epilogue_of(lowering, id);
  std::string parameters = parameter_text(view.a, "a") + parameter_text(view.b, "b");
  std::vector<Placement> reads = {view.a, view.b};
  const auto read = [&](const Placement& placement, const char* name) {
    parameters += parameter_text(placement, name);
    reads.push_back(placement);
  };
  if (scaled.added) read(*scaled.added, "c");
  if (few.norm) read(few.norm->scale, "scale");
  if (few.norm && few.norm->shift) read(*few.norm->shift, "shift");
  const auto at_a = batch_coordinates(view.batch, {"row", "k"});
  const std::string text = fmt::format(
      kFewRowsText, fmt::arg("threads", how.threads()),
      fmt::arg("parameters", parameters + epilogue.parameters()), fmt::arg("depth", view.depth),
      fmt::arg("columns", view.columns), fmt::arg("rows", how.rows), fmt::arg("group", how.group),
      fmt::arg("held", how.held), fmt::arg("slices", how.slices), fmt::arg("slice", how.slice),
      fmt::arg("teams", how.teams), fmt::arg("together", how.together),
      fmt::arg("stored", stored_type(view.a.type)),
      fmt::arg("column_stride", view.b.strides[view.b.dims.size() - 1]),
      fmt::arg("norm_vectors", few.norm ? norm_vectors_text(*few.norm) : std::string()),
      fmt::arg("norm", few.norm ? norm_text(lowering, *few.norm) : std::string()),
      fmt::arg("rows_of_one", view.rows), fmt::arg("a_at", offset_text(view.a, at_a)),
      fmt::arg("loaded", loaded(view.a.type, "numbers.at[j]")),
      fmt::arg("weight", loaded(view.b.type, "weights[c][n].at[j]")),
      fmt::arg("joining", how.slices > 1 ? kJoinSlices : ""),
      fmt::arg("store", epilogue.statements(scaled.text, at_result)));
  StepDraft draft =
      draft_with(epilogue, id, std::move(reads), 2 * how.rows * view.columns * view.depth);
  if (few.norm) {
    draft.nodes.push_back(few.norm->node);
    draft.nodes.insert(draft.nodes.end(), few.norm->moves.begin(), few.norm->moves.end());
    draft.executed_flops += how.rows * view.depth * kNormFlops;
  }
  draft.algorithm = few.norm ? "own few rows, normalised" : "own few rows";
  lowering.add_kernel_step(
      draft, lowering.kernels().add(text, true),
      {.blocks = {static_cast<unsigned>(how.blocks), 1, 1}, .threads = how.threads()});
}

bool is_plain_product(const Node& node) {
  if (node.int_or("transBatchA", 0) != 0 || node.int_or("transBatchB", 0) != 0) return false;
  return node.is("MatMul") || node.is("Gemm") || node.op == "FusedMatMul";
}

// Vectors of the normalised axis, of the rows' type.
std::optional<RowNorm> row_norm_of(Lowering& lowering, NodeId id, std::int64_t group) {
  const Node& node = lowering.node(id);
  const DataType type = lowering.type(node.inputs[0]);
  const auto vector = [&](std::size_t input) -> std::optional<Placement> {
    const Tensor* tensor = lowering.constant(node.inputs[input]);
    const std::int64_t width = lowering.dims(node.inputs[0]).back();
    if (tensor == nullptr || tensor->type() != type || tensor->dims() != Dims{width}) return {};
    const Placement placement = lowering.native(node.inputs[input]);
    return lies_in_groups(placement, 0, group) ? std::optional(placement) : std::nullopt;
  };
  const auto scale = vector(1);
  if (!scale) return {};
  RowNorm norm{.node = id, .scale = *scale};
  if (node.has_input(2)) {
    norm.shift = vector(2);
    if (!norm.shift) return {};
  }
  return norm;
}

bool gives_statistics(const Lowering& lowering, const Node& norm) {
  for (std::size_t i = 1; i < norm.outputs.size(); ++i)
    if (norm.has_output(i) && lowering.is_read(norm.outputs[i])) return true;
  return false;
}

bool normalises_last_axis(const Lowering& lowering, const Node& norm) {
  const std::int64_t axis = norm.int_or("axis", -1);
  const auto rank = static_cast<std::int64_t>(lowering.dims(norm.inputs[0]).size());
  return axis == -1 || axis == rank - 1;
}

// Gives all rows, in their order: the last of one row is that row.
bool keeps_all_rows(const Lowering& lowering, const Node& node) {
  if (memory::is_view(node)) return true;
  return node.is("Gather") && lowering.number(node.inputs[1]).has_value() &&
         checked_product(lowering.dims(node.inputs[0])) ==
             checked_product(lowering.dims(node.outputs[0]));
}

// The product that alone reads what is normalised, and what only views it before.
struct NormReader {
  NodeId product = {};
  std::vector<NodeId> moves = {};
};

NormReader reader_of(const Lowering& lowering, const Node& norm) {
  NormReader found;
  ValueId value = norm.outputs[0];
  while (true) {
    const NodeId reader = lowering.only_reader(value);
    if (!reader.is_valid() || lowering.is_covered(reader)) return {};
    const Node& node = lowering.node(reader);
    if (node.inputs[0] != value || lowering.is_dynamic(node.outputs[0])) return {};
    if (is_plain_product(node)) {
      if (is_few(lowering, node)) found.product = reader;
      return found;
    }
    if (!keeps_all_rows(lowering, node)) return {};
    found.moves.push_back(reader);
    value = node.outputs[0];
  }
}

}  // namespace

bool lower_few_rows_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_plain_product(node) || !is_few(lowering, node)) return false;
  const auto few = few_rows_of(lowering, node, lowering.native(node.inputs[0]));
  if (!few) return false;
  add_few_rows_step(lowering, id, *few);
  return true;
}

bool lower_norm_and_product(Lowering& lowering, NodeId id) {
  const Node& norm = lowering.node(id);
  if (gives_statistics(lowering, norm) || !normalises_last_axis(lowering, norm)) return false;
  const NormReader reader = reader_of(lowering, norm);
  if (!reader.product.is_valid()) return false;
  const Node& product = lowering.node(reader.product);
  if (product.has_input(2) && !lowering.is_available(product.inputs[2])) return false;
  const auto rows = reshaped(lowering.native(norm.inputs[0]), lowering.dims(product.inputs[0]));
  if (!rows || rows->dims.back() != lowering.dims(norm.inputs[0]).back()) return false;
  auto few = few_rows_of(lowering, product, *rows);
  if (!few || few->how.slices != 1) return false;
  few->norm = row_norm_of(lowering, id, few->how.group);
  if (!few->norm) return false;
  few->norm->moves = reader.moves;
  for (const NodeId node : reader.moves) lowering.cover(node);
  lowering.cover(reader.product);
  add_few_rows_step(lowering, reader.product, *few);
  return true;
}

}  // namespace assay::cuda
