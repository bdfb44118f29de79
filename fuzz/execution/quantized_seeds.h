// Quantised networks as exporters write them: float ops between DequantizeLinear and
// QuantizeLinear, and products of dynamically quantised activations.
#pragma once

#include "assay/graph.h"

namespace assay::fuzz {

Graph quantized_block(DataType activation_type);
Graph dynamically_quantized_product();

}  // namespace assay::fuzz
