// The single ceilings of a GPU. Every result is checked before its time counts: an Error says which
// was wrong.
#pragma once

#include "assay/machine.h"
#include "machine/gpu/gpu_stopwatch.h"
#include "machine/gpu/product_kernel.h"

namespace assay::machine {

Peak measure_product(const GpuStopwatch& watch, const ProductKernel& kernel, double seconds);

// Of the second-level cache and of memory.
std::vector<Bandwidth> measure_traffic(const GpuStopwatch& watch, double seconds);

}  // namespace assay::machine
