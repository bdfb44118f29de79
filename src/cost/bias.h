// A bias counts as one whether it is an input of Gemm or an Add after MatMul.
#pragma once

#include "cost/op_view.h"

namespace assay::cost {

// True for an Add of a stored vector, one number a channel, to the result of a product.
bool is_bias_add(const OpView& op);

}  // namespace assay::cost
