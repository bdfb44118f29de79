#include "assay/profiler.h"

#include "assay/bind.h"
#include "assay/cost.h"
#include "base/checked.h"
#include "base/fail.h"

namespace assay {

std::int64_t Profiler::count_parameters(const Graph& model) const {
  return count_costs(infer_shapes(model)).totals.parameters;
}

namespace {

bool is_other_op(const LayerCost& layer) {
  return layer.answer == Answer::Counted && layer.macs == 0 && layer.bias_flops == 0;
}

std::int64_t simple_flops(const CostSheet& sheet) {
  std::int64_t flops = saturating_multiply(2, sheet.totals.macs);
  for (const LayerCost& layer : sheet.layers) {
    if (!is_other_op(layer) || !layer.output_shape) continue;
    const std::int64_t elements = layer.output_shape->elements().value_or(0);
    flops = saturating_add(flops, saturating_multiply(layer.repeats, elements));
  }
  return flops;
}

}  // namespace

std::int64_t Profiler::count_flops(const Graph& model,
                                   const std::vector<std::int64_t>& input_shape) const {
  if (model.inputs().empty()) fail_bad_input("the model '{}' has no input", model.name);
  Bindings bindings;
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape(input_shape);
  const CostSheet sheet = count_costs(infer_shapes(bind_inputs(model, bindings).graph));
  const std::int64_t flops = simple_flops(sheet);
  const bool has_batch_axis = sheet.totals.macs > 0 && input_shape.size() > 1 && input_shape[0] > 0;
  return has_batch_axis ? flops / input_shape[0] : flops;
}

}  // namespace assay
