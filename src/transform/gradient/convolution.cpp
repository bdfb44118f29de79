// Conv and ConvTranspose: each computes the input gradient of the other.
#include "kernels/window_grid.h"
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

std::vector<Attribute> with(std::vector<Attribute> attributes, std::string name, Dims dims) {
  attributes.push_back({std::move(name), std::move(dims)});
  return attributes;
}

void give_bias_alone(GradientContext& context, ValueId gradient) {
  Dims axes = {0};
  for (std::size_t i = 2; i < context.output_dims().size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  context.give(2, context.sum(gradient, axes, false));
}

// The gradient of a bias is a sum over the same elements that the gradient of the weights reads
// anyway.
void give_weight_and_bias(GradientContext& context, std::vector<ValueId> operands,
                          const std::vector<Attribute>& attributes, ValueId gradient) {
  if (!context.wants(1)) {
    if (context.wants(2)) give_bias_alone(context, gradient);
    return;
  }
  const auto given =
      context.own_with_outputs("ConvWeightGradient", std::move(operands), context.wants(2) ? 2 : 1,
                               with(attributes, "weight_dims", context.input_dims(1)));
  context.give(1, given[0]);
  if (context.wants(2)) context.give(2, given[1]);
}

void convolution(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const auto attributes = context.window_attributes();
  if (context.wants(0)) {
    context.give(0, context.own("ConvInputGradient", {gradient, context.in(1)},
                                with(attributes, "input_dims", context.input_dims(0))));
  }
  give_weight_and_bias(context, {context.in(0), gradient}, attributes, gradient);
}

// Padding as numbers, whatever the op says in words.
Dims transposed_pads(const GradientContext& context) {
  const Dims input = context.input_dims(0);
  const Dims weight = context.input_dims(1);
  const kernels::KernelCall call{context.node(), {}, context.opset()};
  const kernels::WindowGrid grid = kernels::transposed_window_grid(
      call, std::span(input).subspan(2), std::span(weight).subspan(2));
  const std::span own = std::span(grid.axes).last(grid.rank);
  Dims pads;
  for (const kernels::WindowAxis& axis : own) pads.push_back(axis.pad_begin);
  for (const kernels::WindowAxis& axis : own) pads.push_back(axis.pad_end);
  return pads;
}

void transposed_convolution(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const auto attributes =
      with(context.attributes({"strides", "dilations", "group"}), "pads", transposed_pads(context));
  if (context.wants(0)) {
    context.give(0, context.node("Conv", {gradient, context.in(1)}, attributes));
  }
  if (context.wants(1)) {
    context.give(1, context.own("ConvWeightGradient", {gradient, context.in(0)},
                                with(attributes, "weight_dims", context.input_dims(1))));
  }
  if (context.wants(2)) give_bias_alone(context, gradient);
}

}  // namespace

void add_convolution_gradients(GradientTable& table) {
  table["Conv"] = convolution;
  table["ConvTranspose"] = transposed_convolution;
}

}  // namespace assay::transform
