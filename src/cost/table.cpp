#include "cost/table.h"

#include <string>

namespace assay::cost {

const CostTable& cost_table() {
  static const CostTable table = [] {
    CostTable all;
    add_convolution_costs(all);
    add_matrix_costs(all);
    add_recurrent_costs(all);
    add_normalization_costs(all);
    add_pooling_costs(all);
    add_elementwise_costs(all);
    add_reduction_costs(all);
    add_signal_costs(all);
    add_movement_costs(all);
    add_fused_costs(all);
    add_gradient_costs(all);
    return all;
  }();
  return table;
}

const OpCost* find_cost(const Node& node) {
  const auto& table = cost_table();
  const auto found = node.is_standard() ? table.find(node.op)
                                        : table.find(std::string(node.domain + ":" + node.op));
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace assay::cost
