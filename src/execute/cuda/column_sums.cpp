#include "execute/cuda/column_sums.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kBlockColumns = 32;
constexpr std::int64_t kBlockLines =
    kBlockThreads / kBlockColumns;  // of a block that adds adjacent columns
constexpr std::int64_t kBlocksPerProcessor = 4;

struct ColumnParts {
  std::int64_t count = 1;
  std::int64_t width = 1;   // elements of a part
  std::int64_t groups = 1;  // blocks beside each other
};

ColumnParts column_parts(const Lowering& lowering, const ColumnSums& sums) {
  // Fewer elements a thread are not worth a part.
  constexpr std::int64_t kLeastPerThread = 8;
  const std::int64_t threads = sums.are_columns_adjacent ? kBlockLines : kBlockThreads;
  const std::int64_t groups = sums.are_columns_adjacent
                                  ? (sums.rows.count + kBlockColumns - 1) / kBlockColumns
                                  : sums.rows.count;
  const std::int64_t blocks = kBlocksPerProcessor * lowering.device().facts().multiprocessors;
  const std::int64_t most =
      std::max<std::int64_t>(1, sums.rows.width / (threads * kLeastPerThread));
  ColumnParts parts{.groups = groups};
  const std::int64_t wanted = std::clamp<std::int64_t>(blocks / groups, 1, most);
  parts.width = (sums.rows.width + wanted - 1) / wanted;
  parts.count = (sums.rows.width + parts.width - 1) / parts.width;
  return parts;
}

std::string each_sum(const ColumnSums& sums, const char* text) {
  std::string all;
  for (std::size_t i = 0; i < sums.count; ++i)
    all += fmt::format(fmt::runtime(text), fmt::arg("i", i), fmt::arg("type", sums.type));
  return all;
}

std::string column_loop_text(const ColumnSums& sums, const ColumnParts& parts, const char* first,
                             std::int64_t step) {
  return fmt::format(
      R"({before}    const int from = blockIdx.y * {width};
    const int end = from + {width} < {all} ? from + {width} : {all};
#pragma unroll 4
    for (int j = from + {first}; j < end; j += {step}) {{
{at}{add}    }}
)",
      fmt::arg("before", sums.before), fmt::arg("width", parts.width),
      fmt::arg("all", sums.rows.width), fmt::arg("first", first), fmt::arg("step", step),
      fmt::arg("at", place_text(sums.rows, "j")), fmt::arg("add", sums.add));
}

// A warp reads a line of columns; a block adds several lines up.
std::string adjacent_text(const ColumnSums& sums, const ColumnParts& parts) {
  return fmt::format(
      R"(  const int lane = threadIdx.x % 32, line = threadIdx.x / 32;
  const int column = blockIdx.x * 32 + lane;
{declared}  if (column < {columns}) {{
{at}{loop}  }}
  __shared__ {type} all[{lines}][{count}][32];
{shared}  __syncthreads();
  if (column >= {columns}) return;
  for (int which = line; which < {count}; which += {lines}) {{
    {type} sum = 0;
    for (int k = 0; k < {lines}; ++k) sum += all[k][which][lane];
    parts[(which * {parts}ll + blockIdx.y) * {columns} + column] = sum;
  }}
)",
      fmt::arg("declared", each_sum(sums, "  {type} sum{i} = 0;\n")),
      fmt::arg("columns", sums.rows.count), fmt::arg("at", row_text(sums.rows, "column")),
      fmt::arg("loop", column_loop_text(sums, parts, "line", kBlockLines)),
      fmt::arg("type", sums.type), fmt::arg("lines", kBlockLines), fmt::arg("count", sums.count),
      fmt::arg("shared", each_sum(sums, "  all[line][{i}][lane] = sum{i};\n")),
      fmt::arg("parts", parts.count));
}

// A block adds up one part of one column.
std::string scattered_text(const ColumnSums& sums, const ColumnParts& parts) {
  std::string store;
  for (std::size_t i = 0; i < sums.count; ++i)
    store += fmt::format("  parts[({} * {}ll + blockIdx.y) * {} + column] = sum{};\n", i,
                         parts.count, sums.rows.count, i);
  return fmt::format(
      R"(  const int column = blockIdx.x;
{declared}  {{
{at}{loop}  }}
{together}  if (threadIdx.x != 0) return;
{store})",
      fmt::arg("declared", each_sum(sums, "  {type} sum{i} = 0;\n")),
      fmt::arg("at", row_text(sums.rows, "column")),
      fmt::arg("loop", column_loop_text(sums, parts, "(int)threadIdx.x", kBlockThreads)),
      fmt::arg(
          "together",
          each_sum(
              sums,
              fmt::format("  sum{{i}} = together<Plus, {}>(sum{{i}});\n", kBlockThreads).c_str())),
      fmt::arg("store", store));
}

// A warp for each column.
std::string column_finish_text(const ColumnSums& sums, const ColumnParts& parts,
                               const std::string& parameters) {
  std::string add;
  for (std::size_t i = 0; i < sums.count; ++i)
    add += fmt::format("    sum{0} += parts[({0} * {1}ll + part) * {2} + column];\n", i,
                       parts.count, sums.rows.count);
  return fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}) {{
  const int lane = threadIdx.x % 32, column = blockIdx.x * {lines} + threadIdx.x / 32;
{declared}  if (column < {columns})
    for (int part = lane; part < {parts}; part += 32) {{
{add}    }}
{together}  if (lane != 0 || column >= {columns}) return;
{at}{finish}}}
)",
      fmt::arg("parameters", parameters), fmt::arg("lines", kBlockLines),
      fmt::arg("declared", each_sum(sums, "  double sum{i} = 0;\n")),
      fmt::arg("columns", sums.rows.count), fmt::arg("parts", parts.count), fmt::arg("add", add),
      fmt::arg("together", each_sum(sums, "  sum{i} = together<Plus, 32>(sum{i});\n")),
      fmt::arg("at", row_text(sums.rows, "column")), fmt::arg("finish", sums.finish));
}

std::string column_outputs_text(const std::vector<Placement>& writes) {
  std::string list;
  for (std::size_t i = 0; i < writes.size(); ++i)
    list += fmt::format(", {}* __restrict__ out{}", stored_type(writes[i].type), i);
  return list;
}

}  // namespace

bool are_columns_adjacent(const Placement& placement, const Rows& rows) {
  if (rows.kept.empty()) return false;
  const std::size_t last = rows.kept.back();
  return placement.dims[last] > 1 && placement.strides[last] == 1;
}

std::vector<KernelCall> column_sum_calls(Lowering& lowering, const ColumnSums& sums,
                                         const Operands& adding, const Operands& finishing,
                                         const std::vector<Placement>& writes, StepDraft& draft) {
  const ColumnParts parts = column_parts(lowering, sums);
  const DataType type = sums.type == "double" ? DataType::Float64 : DataType::Float32;
  const Placement between = lowering.in_new_buffer(row_major_placement(
      type, {static_cast<std::int64_t>(sums.count), parts.count, sums.rows.count}));
  draft.workspace.push_back(between.buffer);
  const std::string add_text = fmt::format(
      "\nextern \"C\" __global__ void KERNEL({}{}* __restrict__ parts) {{\n{}}}\n",
      adding.parameters(), sums.type,
      sums.are_columns_adjacent ? adjacent_text(sums, parts) : scattered_text(sums, parts));
  KernelCall add{
      lowering.kernels().add(add_text, true),
      {.blocks = {static_cast<unsigned>(parts.groups), static_cast<unsigned>(parts.count), 1},
       .threads = kBlockThreads},
      adding.reads()};
  add.arguments.push_back(between);
  const std::string text = column_finish_text(
      sums, parts,
      finishing.parameters() + fmt::format("const {}* __restrict__ parts", sums.type) +
          column_outputs_text(writes));
  KernelCall finish{
      lowering.kernels().add(text, true),
      {.blocks = {static_cast<unsigned>((sums.rows.count + kBlockLines - 1) / kBlockLines), 1, 1},
       .threads = kBlockThreads},
      finishing.reads()};
  finish.arguments.push_back(between);
  finish.arguments.insert(finish.arguments.end(), writes.begin(), writes.end());
  return {add, finish};
}

}  // namespace assay::cuda
