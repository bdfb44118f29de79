// Pseudo-random weights that depend only on a seed, a name and the position: the same on every
// machine, in any order, on any number of threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/tensor.h"

namespace assay::graph {

// A pseudo-random number derived from `x`: see mixing.h.
std::uint64_t mixed_bits(std::uint64_t x);

// float32, uniform in [-bound, bound), generated when first read.
Tensor seeded_uniform(std::uint64_t seed, std::string_view name, std::vector<std::int64_t> dims,
                      double bound);
// float32, one repeated number, generated when first read.
Tensor filled_tensor(std::vector<std::int64_t> dims, float number);

}  // namespace assay::graph
