// A matrix product and the sum with a constant row after it become a Gemm, which has a bias of 32
// bits: rounded to 8 bits, the bias would lose most of what it says. Operands of more than two axes
// are flattened before and restored after.
#pragma once

#include "assay/graph.h"

namespace assay::transform {

Graph with_biased_products(const Graph& graph);

}  // namespace assay::transform
