#include "execute/cuda/row_kernel.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kWarp = 32;

std::string digits_text(const Dims& dims, const std::vector<std::size_t>& axes, std::string rest) {
  std::string text;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t length = dims[axes[i]];
    text += fmt::format("  const int i{} = (int)({});\n", axes[i],
                        i == 0 ? rest : remainder_text(rest, length));
    rest = "(" + quotient_text(rest, length) + ")";
  }
  return text;
}

}  // namespace

Rows rows_over(const Dims& dims, const std::vector<std::size_t>& reduced) {
  Rows rows{.dims = dims, .kept = {}, .reduced = reduced};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_reduced = std::ranges::find(reduced, axis) != reduced.end();
    if (!is_reduced) rows.kept.push_back(axis);
    (is_reduced ? rows.width : rows.count) *= dims[axis];
  }
  return rows;
}

unsigned threads_for(const Rows& rows) {
  constexpr std::int64_t kMost = 256;
  return static_cast<unsigned>(std::clamp((rows.width + kWarp - 1) / kWarp * kWarp, kWarp, kMost));
}

std::string row_text(const Rows& rows, const std::string& row) {
  return digits_text(rows.dims, rows.kept, row);
}

std::string place_text(const Rows& rows, const std::string& element) {
  return digits_text(rows.dims, rows.reduced, element);
}

std::string each_text(const Rows& rows, const std::string& body) {
  return fmt::format("  for (int j = threadIdx.x; j < {}; j += THREADS) {{\n{}{}  }}\n", rows.width,
                     digits_text(rows.dims, rows.reduced, "j"), body);
}

KernelText row_kernel(const Rows& rows, const std::string& parameters, const std::string& body) {
  const unsigned threads = threads_for(rows);
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({}) {{
  constexpr int THREADS = {};
{}{}}}
)",
      parameters, threads, row_text(rows), body);
  return {text, {.blocks = {static_cast<unsigned>(rows.count), 1, 1}, .threads = threads}};
}

bool is_reasonable(const Rows& rows) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return rows.count > 0 && rows.width > 0 && rows.count < kMost && rows.width < kMost;
}

void add_row_step(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue,
                  std::vector<Placement> reads, const std::string& parameters,
                  const std::string& body, std::int64_t flops_per_element) {
  const KernelText kernel = row_kernel(rows, parameters + epilogue.parameters(), body);
  StepDraft draft =
      draft_with(epilogue, id, std::move(reads), rows.count * rows.width * flops_per_element);
  draft.algorithm = "own rows";
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text, true), kernel.shape);
}

}  // namespace assay::cuda
