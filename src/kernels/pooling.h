// What poolings and norms share.
#pragma once

#include "kernels/kernel.h"

namespace assay {

// The attribute `p` of a p-norm, an int or, in the first version, a float; fails unless positive.
double norm_power(const KernelCall& call);

}  // namespace assay
