// Kernels over windows of images whose channels lie next to each other in memory. A thread computes
// some neighbouring channels of a few windows above each other: it reads vectors, and each row of
// the image once for all of its windows.
#pragma once

#include <optional>
#include <string>

#include "execute/cuda/epilogue.h"
#include "kernels/window_grid.h"

namespace assay::cuda {

struct WindowStrip {
  kernels::WindowGrid grid;
  Placement image;            // (batch, channels, spatial…)
  std::int64_t channels = 1;  // of a thread
  std::int64_t windows = 1;   // of a thread

  std::int64_t threads() const;
};

// With as many windows above each other, at most so many, as save reading and leave the device
// enough threads; nothing if channels do not lie so.
constexpr std::int64_t kMostWindows = 4;
std::optional<WindowStrip> window_strip_of(const kernels::WindowGrid& grid, const Placement& image,
                                           std::int64_t most_windows = kMostWindows);

// What is computed: "sums[w][j]" of type `type` for window w and channel j of the thread.
struct StripTexts {
  std::string parameters = "";  // of the kernel, without the epilogue's
  std::string image = "";       // the parameter that points to the image
  std::string type = "float";
  std::string before = "";     // statements, where "channel" is the first of the thread's channels
  std::string start = "0";     // of a sum; may name j
  std::string outside = "0";   // an element of the padding
  std::string tap = "";        // statements once a tap: "tap0", "tap1", "tap2"
  std::string add = "";        // a statement that adds the element "x" of channel j to `sum`
  std::string finish = "";     // statements once a window, "out0", "out1", "out2"
  std::string result = "sum";  // an expression of `sum`
};

// The result lies channels last.
KernelText strip_kernel(const WindowStrip& strip, const StripTexts& texts,
                        const Epilogue& epilogue);

}  // namespace assay::cuda
