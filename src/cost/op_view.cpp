#include "cost/op_view.h"

#include "base/checked.h"
#include "base/fail.h"

namespace assay::cost {

Work macs_only(std::int64_t macs) {
  return {.macs = macs, .effective_macs = macs};
}

Work flops_only(std::int64_t flops) {
  return {.other_flops = flops};
}

std::vector<std::int64_t> OpView::dims_of(ValueId value) const {
  const ValueType& type = graph_->value(value).type;
  if (!type.has_known_shape()) throw ShapeNotKnown{graph_->value(value).name};
  return type.shape->values();
}

std::vector<std::int64_t> OpView::input_dims(std::size_t i) const {
  if (!has_input(i)) {
    fail_bad_input("{} '{}': input {} is missing", node().op, graph_->display_name(id_), i);
  }
  return dims_of(node().inputs[i]);
}

std::vector<std::int64_t> OpView::output_dims(std::size_t i) const {
  if (!has_output(i)) {
    fail_bad_input("{} '{}': output {} is missing", node().op, graph_->display_name(id_), i);
  }
  return dims_of(node().outputs[i]);
}

std::int64_t OpView::input_elements(std::size_t i) const {
  return product(input_dims(i));
}

std::int64_t OpView::last_axis(std::size_t input) const {
  const auto dims = input_dims(input);
  return dims.empty() ? 1 : dims.back();
}

std::int64_t OpView::output_elements(std::size_t i) const {
  return product(output_dims(i));
}

const Tensor* OpView::known_input(std::size_t i) const {
  return has_input(i) ? scope_->known(node().inputs[i]) : nullptr;
}

const Tensor* GraphScope::known(ValueId value) const {
  if (const Tensor* stored = graph.initializer(value)) return stored;
  if (root != nullptr) return root->known_value(value);
  for (const Capture& capture : graph.captures()) {
    if (capture.inner == value && around != nullptr) return around->known(capture.outer);
  }
  return nullptr;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t result = 1;
  for (const auto dim : dims) result = saturating_multiply(result, dim);
  return result;
}

}  // namespace assay::cost
