// The one table of costs: what kind of op each is, and the small function that counts its work.
//
// To teach assay an op, write its function in the file of its family and add a line there.
#pragma once

#include <string_view>
#include <unordered_map>

#include "cost/op_view.h"

namespace assay::cost {

using CountWork = Work (*)(const OpView&);

enum class Traffic {
  Streams,    // reads every input, writes every output
  View,       // the output is the input's bytes under another shape: nothing moves
  Picks,      // reads only as many elements as it writes: Gather, Slice
  Generates,  // reads no tensor: Shape, ConstantOfShape, Range
};

struct OpCost {
  CountWork count = nullptr;  // null: no arithmetic
  Traffic traffic = Traffic::Streams;
};

// Keys are "Conv" for the standard domain and "domain:Op" for others.
using CostTable = std::unordered_map<std::string_view, OpCost>;
const CostTable& cost_table();
// Null for an op that has no entry.
const OpCost* find_cost(const Node& node);

// The families; each adds its ops.
void add_convolution_costs(CostTable& table);
void add_matrix_costs(CostTable& table);
void add_recurrent_costs(CostTable& table);
void add_normalization_costs(CostTable& table);
void add_pooling_costs(CostTable& table);
void add_elementwise_costs(CostTable& table);
void add_reduction_costs(CostTable& table);
void add_signal_costs(CostTable& table);
void add_movement_costs(CostTable& table);
void add_fused_costs(CostTable& table);
void add_gradient_costs(CostTable& table);

}  // namespace assay::cost
