// Peaks of tensor cores by cuBLASLt's products of large matrices, which use instructions that
// kernels of ours do not. Operands are random numbers; some elements of each result are compared
// with sums worked out here.
#pragma once

#include "assay/machine.h"
#include "gpu/cublaslt_product.h"
#include "machine/gpu/gpu_stopwatch.h"

namespace assay::machine {

struct LibraryProduct {
  std::string precision = "";
  gpu::NumberType type = gpu::NumberType::Float16;
  gpu::Float32Math math = gpu::Float32Math::Real;
  int least_capability = 80;
};
// None where this machine has no cuBLASLt.
std::vector<LibraryProduct> library_products(const gpu::Device& device);

// The library proposes algorithms, the fastest counts; nothing if it has none. Throws an Error if
// the result is wrong.
std::optional<Peak> measure_library_product(const GpuStopwatch& watch,
                                            const LibraryProduct& product, double seconds);

}  // namespace assay::machine
