// Which kernels a piece of work launches, by the names that their libraries gave them: the only
// word of NVIDIA's libraries on how they compute something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace assay::gpu {

// The work is captured and not run; it should have run once, since some work cannot be captured the
// first time. Each name once, in the order of the graph; none if the driver does not tell them.
std::vector<std::string> launched_kernels(const Stream& stream,
                                          const std::function<void(const Stream&)>& work);

}  // namespace assay::gpu
