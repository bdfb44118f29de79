// Kernels of one thread for each number of a result, which is found by its coordinates.
#pragma once

#include "execute/cuda/epilogue.h"

namespace assay::cuda {

// "i0", "i1", …: the coordinates, declared as int, one an axis of the result.
std::vector<std::string> index_names(const Dims& dims);

// Statements that declare them, from the place of an element in memory, `element`.
std::string coordinates_of(const Placement& result);

// `body` finds the number `sum` is an expression of, from the coordinates; it may return early
// only where nothing is to be stored.
KernelText indexed_kernel(const Epilogue& epilogue, const std::string& parameters,
                          const std::string& body, const std::string& sum);

// A step of such a kernel, which reads `reads`; `parameters` declares them in this order.
void add_indexed_step(Lowering& lowering, NodeId id, const Epilogue& epilogue,
                      std::vector<Placement> reads, const std::string& parameters,
                      const std::string& body, const std::string& sum, const char* algorithm,
                      std::int64_t flops = 0);

// "const float* __restrict__ image, "
std::string parameter_text(const Placement& placement, const std::string& name);
// "load(image[i0 * 64 + i1])"
std::string element_text(const Placement& placement, const std::string& name,
                         const std::vector<std::string>& at);

}  // namespace assay::cuda
