// Reductions over axes that are not the last in memory, as of pixels whose channels lie next to
// each other: a thread reduces some neighbouring elements at once, and several threads share the
// rest.
#pragma once

#include "execute/cuda/row_kernel.h"

namespace assay::cuda {

// How a reduction maps elements, combines them and finishes; `x` and `sum` are the numbers.
struct Reduction {
  const char* map = "x";
  const char* combine = "Plus";
  double start = 0;
  const char* finish = "sum";
  bool is_float_only = false;
};

// The number that a reduction starts from, as text.
std::string start_text(const Reduction& what, DataType type);

// The reduction of `x` and the epilogue, stored at `at`, as a step; false: it lies in another way.
bool add_column_reduction(Lowering& lowering, NodeId id, const Rows& rows, const Placement& x,
                          const Reduction& what, const Epilogue& epilogue,
                          const std::vector<std::string>& at);

}  // namespace assay::cuda
