// Sums of products in tiles, by a kernel of our own: matrix products and convolutions, where no
// library of NVIDIA's does them.
#pragma once

#include "execute/cuda/chain.h"

namespace assay::cuda {

// result(z, row, column) = Σ a(z, row, k) · b(z, k, column). The texts may use `z`, `row`, `column`
// and `k` (long long each).
struct TiledProduct {
  std::int64_t batches = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::string sum_type = "float";
  std::string parameters;  // of the kernel
  std::string load_a;      // statements that return the number
  std::string load_b;
  std::string store;  // statements that store `sum`
};

KernelText tiled_kernel(const TiledProduct& product);

}  // namespace assay::cuda
