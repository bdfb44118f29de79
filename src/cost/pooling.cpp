// Pooling: one FLOP for every element of every window.
#include "base/checked.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

std::int64_t window(const OpView& op) {
  return product(op.node().ints_or("kernel_shape", {}));
}

template <int FlopsPerTap>
Work windows(const OpView& op) {
  return flops_only(
      saturating_multiply(FlopsPerTap, saturating_multiply(op.output_elements(), window(op))));
}

template <int FlopsPerElement>
Work whole_input(const OpView& op) {
  return flops_only(saturating_multiply(FlopsPerElement, op.input_elements(0)));
}

}  // namespace

void add_pooling_costs(CostTable& table) {
  table["MaxPool"] = {windows<1>};
  table["AveragePool"] = {windows<1>};
  table["LpPool"] = {windows<2>};
  table["GlobalMaxPool"] = {whole_input<1>};
  table["GlobalAveragePool"] = {whole_input<1>};
  table["GlobalLpPool"] = {whole_input<2>};
  table["MaxRoiPool"] = {whole_input<1>};
  table["MaxUnpool"] = {};
  table["com.microsoft:QLinearGlobalAveragePool"] = {whole_input<1>};
  table["com.microsoft:QLinearAveragePool"] = {windows<1>};
}

}  // namespace assay::cost
