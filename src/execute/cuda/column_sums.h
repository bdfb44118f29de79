// Sums over some axes of a tensor for every place of the others, where there are few places for all
// the processors of a GPU or elements to add up lie far apart: one kernel adds up parts, a second
// one the parts. The order of additions is always the same.
#pragma once

#include "execute/cuda/operands.h"
#include "execute/cuda/row_kernel.h"

namespace assay::cuda {

struct ColumnSums {
  Rows rows;  // a column is what is kept
  bool are_columns_adjacent = false;
  std::string type = "float";  // of elements, and of the sums of a part
  std::size_t count = 1;       // of sums of each column
  // The coordinates i0, i1, … of a column are declared, then those of its elements.
  std::string before = "";  // statements once for a column
  std::string add;          // statements that add an element to `sum0`, `sum1`, …
  std::string finish;       // statements that store `sum0`, `sum1`, …, doubles
};

// Whether neighbours in memory belong to different columns.
bool are_columns_adjacent(const Placement& placement, const Rows& rows);

// The calls, and in `draft.workspace` the buffer of the parts. `adding` and `finishing` are what
// the two kernels read; the second one writes `writes`, named "out0", "out1", ….
std::vector<KernelCall> column_sum_calls(Lowering& lowering, const ColumnSums& sums,
                                         const Operands& adding, const Operands& finishing,
                                         const std::vector<Placement>& writes, StepDraft& draft);

}  // namespace assay::cuda
