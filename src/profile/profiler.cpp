#include "assay/profiler.h"

#include "assay/bind.h"
#include "assay/cost.h"
#include "base/checked.h"
#include "base/fail.h"

namespace assay {

std::int64_t Profiler::count_parameters(const Graph& model) const {
  return count_costs(infer_shapes(model)).totals.parameters;
}

std::int64_t Profiler::count_flops(const Graph& model,
                                   const std::vector<std::int64_t>& input_shape) const {
  if (model.inputs().empty()) fail_bad_input("the model '{}' has no input", model.name);
  Bindings bindings;
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape(input_shape);
  const CostTotals totals = count_costs(infer_shapes(bind_inputs(model, bindings).graph)).totals;
  const std::int64_t flops =
      saturating_add(saturating_multiply(2, totals.macs), totals.other_flops);
  const bool has_batch_axis = totals.macs > 0 && input_shape.size() > 1 && input_shape[0] > 0;
  return has_batch_axis ? flops / input_shape[0] : flops;
}

}  // namespace assay
