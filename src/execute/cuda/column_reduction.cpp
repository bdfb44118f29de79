#include "execute/cuda/column_reduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kFewOfBlock = 256;  // of a block
constexpr std::int64_t kMostOfBlock = 1024;
constexpr std::int64_t kEnoughColumnBlocks = 256;
constexpr std::int64_t kMostGroups = 32;
constexpr std::int64_t kFewestGroups = 2;  // of 16 bytes: what memory reads at least

// Elements of the axis in groups, side by side; a block takes some groups, and for each of them
// several threads, of which every one reduces a part.
struct Columns {
  std::size_t axis = 0;
  std::int64_t width = 1;   // elements of a group
  std::int64_t groups = 1;  // of the axis
  std::int64_t taken = 1;   // groups of a block, a power of two
  std::int64_t shares = 1;  // threads of a group, a power of two
  std::int64_t outer = 1;   // places of the other kept axes

  std::int64_t blocks_of_axis() const { return (groups + taken - 1) / taken; }
  std::int64_t blocks() const { return outer * blocks_of_axis(); }
  std::int64_t threads() const { return taken * shares; }
};

// The axis that is kept and lies last in memory.
std::optional<std::size_t> last_axis(const Rows& rows, const Placement& x) {
  for (const std::size_t axis : rows.kept)
    if (x.dims[axis] > 1 && x.strides[axis] == 1) return axis;
  return {};
}

std::optional<Columns> columns_of(const Rows& rows, const Placement& x) {
  const auto axis = last_axis(rows, x);
  if (!axis || rows.width == 1) return {};
  Columns columns{.axis = *axis, .width = vector_width(x, *axis)};
  if (columns.width == 1) return {};
  columns.groups = x.dims[*axis] / columns.width;
  columns.outer = rows.count / x.dims[*axis];
  columns.taken = kMostGroups;
  while (columns.taken > kFewestGroups &&
         (columns.taken >= 2 * columns.groups || columns.blocks() < kEnoughColumnBlocks))
    columns.taken /= 2;
  const std::int64_t most = columns.blocks() < kEnoughColumnBlocks ? kMostOfBlock : kFewOfBlock;
  while (columns.shares < rows.width && columns.threads() < most) columns.shares *= 2;
  return columns;
}

// The coordinates of the kept axes but the columns', from the number of the block.
std::string outer_text(const Rows& rows, const Columns& columns) {
  Rows others = rows;
  std::erase(others.kept, columns.axis);
  return row_text(others, quotient_text("(long long)blockIdx.x", columns.blocks_of_axis()));
}

// `x` seen as its reduced axes alone.
Walk reduced_walk(const Rows& rows, const Placement& x) {
  Placement seen{.buffer = x.buffer, .type = x.type, .dims = {}, .strides = {}};
  for (const std::size_t axis : rows.reduced) {
    seen.dims.push_back(x.dims[axis]);
    seen.strides.push_back(x.strides[axis]);
  }
  return walk_over(std::vector{seen});
}

// The first element that a thread reads.
std::string first_text(const Rows& rows, const Placement& x, const Columns& columns) {
  std::vector<std::string> at(x.dims.size(), "0");
  for (const std::size_t axis : rows.kept) at[axis] = fmt::format("(long long)i{}", axis);
  at[columns.axis] = "first";
  return offset_text(x, at);
}

KernelText column_kernel(const Rows& rows, const Placement& x, const Columns& columns,
                         const Reduction& what, const Epilogue& epilogue,
                         const std::vector<std::string>& at) {
  const std::string type = computed_type(x.type);
  const Walk walk = reduced_walk(rows, x);
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameter}{more}) {{
{outer}  const int group = (int)({block}) * {taken} + threadIdx.x % {taken};
  const int share = threadIdx.x / {taken}, first = group * {width};
  {type} sums[{width}];
#pragma unroll
  for (int v = 0; v < {width}; ++v) sums[v] = {start};
  if (group < {groups}) {{
    const {stored}* __restrict__ start = in + {first};
#pragma unroll 8
    for (int j = share; j < {count}; j += {shares}) {{
{coordinates}      const Group<{stored}, {width}> elements = *(const Group<{stored}, {width}>*)(start + {offset});
#pragma unroll
      for (int v = 0; v < {width}; ++v) {{
        const {type} x = {element};
        sums[v] = {combine}::of(sums[v], ({type})({map}));
      }}
    }}
  }}
  __shared__ {type} parts[{width}][{threads}];
#pragma unroll
  for (int v = 0; v < {width}; ++v) parts[v][threadIdx.x] = sums[v];
  for (int half = {half_threads}; half >= {taken}; half /= 2) {{
    __syncthreads();
    if ((int)threadIdx.x >= half) continue;
#pragma unroll
    for (int v = 0; v < {width}; ++v)
      parts[v][threadIdx.x] = {combine}::of(parts[v][threadIdx.x], parts[v][threadIdx.x + half]);
  }}
  __syncthreads();
  const {type} WIDTH = {count};
  for (int k = threadIdx.x; k < {results}; k += {threads}) {{
    const int i{axis} = (int)({block}) * {results} + k;
    if (i{axis} >= {length}) break;
    const {type} sum = parts[k % {width}][k / {width}];
{store}  }}
}}
)",
      fmt::arg("parameter", parameter_text(x, "in")), fmt::arg("more", epilogue.parameters()),
      fmt::arg("outer", outer_text(rows, columns)),
      fmt::arg("block", remainder_text("(long long)blockIdx.x", columns.blocks_of_axis())),
      fmt::arg("taken", columns.taken), fmt::arg("width", columns.width), fmt::arg("type", type),
      fmt::arg("start", start_text(what, x.type)), fmt::arg("groups", columns.groups),
      fmt::arg("stored", stored_type(x.type)), fmt::arg("first", first_text(rows, x, columns)),
      fmt::arg("count", rows.width), fmt::arg("shares", columns.shares),
      fmt::arg("coordinates", coordinates_text(walk, "j")),
      fmt::arg("offset", offset_text(walk, 0)),
      fmt::arg("element", loaded(x.type, "elements.at[v]")), fmt::arg("combine", what.combine),
      fmt::arg("map", what.map), fmt::arg("threads", columns.threads()),
      fmt::arg("half_threads", columns.threads() / 2),
      fmt::arg("results", columns.taken * columns.width), fmt::arg("axis", columns.axis),
      fmt::arg("length", x.dims[columns.axis]),
      fmt::arg("store", epilogue.statements(fmt::format("({})({})", type, what.finish), at)));
  return {text,
          {.blocks = {static_cast<unsigned>(columns.blocks()), 1, 1},
           .threads = static_cast<unsigned>(columns.threads())}};
}

}  // namespace

std::string start_text(const Reduction& what, DataType type) {
  const std::string computed = computed_type(type);
  if (is_floating(type) || !std::isinf(what.start)) return number_text(what.start, computed);
  return fmt::format("whole<{}>({})", computed, what.start < 0 ? "-1e30" : "1e30");
}

bool add_column_reduction(Lowering& lowering, NodeId id, const Rows& rows, const Placement& x,
                          const Reduction& what, const Epilogue& epilogue,
                          const std::vector<std::string>& at) {
  const auto columns = columns_of(rows, x);
  if (!columns) return false;
  const KernelText kernel = column_kernel(rows, x, *columns, what, epilogue, at);
  StepDraft draft = draft_with(epilogue, id, {x}, rows.count * rows.width);
  draft.algorithm = "own columns";
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text, true), kernel.shape);
  return true;
}

}  // namespace assay::cuda
