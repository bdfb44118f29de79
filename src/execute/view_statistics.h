// Statistics of an output that a running program shows, in whatever layout it lies, on the
// program's threads.
#pragma once

#include <optional>
#include <vector>

#include "assay/program.h"
#include "base/function_ref.h"

namespace assay::execute {

struct ViewStatistics {
  float least = 0;
  float greatest = 0;
  bool is_finite = true;          // false: the numbers above mean nothing
  std::vector<double> sums = {};  // of channels, if asked for
};

// Of a float32 output that has elements. `channel_axis`: the sums of channels along it are wanted;
// it has to be 1 where channels lie in blocks.
ViewStatistics statistics_of(const OutputView& view, std::optional<std::size_t> channel_axis,
                             int threads);

// Calls `take(part, numbers)` for stretches that together are all elements, in parts 0..threads
// that run at the same time.
void for_each_stretch_of(const OutputView& view, int threads,
                         FunctionRef<void(std::size_t, std::span<const float>)> take);

}  // namespace assay::execute
