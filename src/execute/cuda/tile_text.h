// Functions of kernels that work on tiles of matrices in shared memory: copies that run while
// others compute, and products of tiles by tensor cores. They ask for compute capability 8.0.
#pragma once

#include <string>

namespace assay::cuda {

inline constexpr int kFirstCapabilityOfTiles = 80;

// Put before every kernel, as a part of the prelude: templates, which cost nothing where no kernel
// uses them.
const std::string& tile_prelude();

}  // namespace assay::cuda
