// Reductions: FLOPs per input element, plus a finishing step per output element.
#include "base/checked.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

template <int PerInput, int PerOutput>
Work reduction(const OpView& op) {
  return flops_only(saturating_add(saturating_multiply(PerInput, op.input_elements(0)),
                                   saturating_multiply(PerOutput, op.output_elements())));
}

// The output's length depends on the data; the search does not.
Work one_per_input(const OpView& op) {
  return flops_only(op.input_elements(0));
}

}  // namespace

void add_reduction_costs(CostTable& table) {
  table["ReduceSum"] = {reduction<1, 0>};
  table["ReduceMax"] = {reduction<1, 0>};
  table["ReduceMin"] = {reduction<1, 0>};
  table["ReduceProd"] = {reduction<1, 0>};
  table["ReduceMean"] = {reduction<1, 1>};
  table["ReduceL1"] = {reduction<2, 0>};
  table["ReduceL2"] = {reduction<2, 1>};
  table["ReduceSumSquare"] = {reduction<2, 0>};
  table["ReduceLogSum"] = {reduction<1, 1>};
  table["ReduceLogSumExp"] = {reduction<2, 1>};
  table["ArgMax"] = {reduction<1, 0>};
  table["ArgMin"] = {reduction<1, 0>};
  table["TopK"] = {one_per_input};
  table["NonZero"] = {one_per_input};
  table["Unique"] = {one_per_input};
  table["ai.onnx.ml:ArrayFeatureExtractor"] = {};
}

}  // namespace assay::cost
