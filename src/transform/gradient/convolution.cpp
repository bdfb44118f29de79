// Conv and ConvTranspose: each is the other's way back to the input.
#include "transform/gradient/context.h"

namespace assay {

namespace {

std::vector<Attribute> window_attributes(const GradientContext& context) {
  return context.attributes({"strides", "pads", "dilations", "auto_pad", "group", "kernel_shape"});
}

std::vector<Attribute> with(std::vector<Attribute> attributes, std::string name, Dims dims) {
  attributes.push_back({std::move(name), std::move(dims)});
  return attributes;
}

void give_bias(GradientContext& context, ValueId gradient) {
  if (!context.wants(2)) return;
  Dims axes = {0};
  for (std::size_t i = 2; i < context.output_dims().size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  context.give(2, context.sum(gradient, axes, false));
}

void convolution(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const auto attributes = window_attributes(context);
  if (context.wants(0)) {
    context.give(0, context.own("ConvInputGradient", {gradient, context.in(1)},
                                with(attributes, "input_dims", context.input_dims(0))));
  }
  if (context.wants(1)) {
    context.give(1, context.own("ConvWeightGradient", {context.in(0), gradient},
                                with(attributes, "weight_dims", context.input_dims(1))));
  }
  give_bias(context, gradient);
}

// Padding as numbers, whatever the op says in words.
Dims transposed_pads(const GradientContext& context) {
  const Dims input = context.input_dims(0);
  const Dims weight = context.input_dims(1);
  const Dims output = context.output_dims();
  const std::size_t axes = input.size() - 2;
  const Dims strides = context.node().ints_or("strides", Dims(axes, 1));
  const Dims dilations = context.node().ints_or("dilations", Dims(axes, 1));
  const Dims extra = context.node().ints_or("output_padding", Dims(axes, 0));
  const std::string words = context.node().string_or("auto_pad", "NOTSET");
  const bool is_given = context.node().find("output_shape") == nullptr && words == "NOTSET";
  if (is_given) return context.node().ints_or("pads", Dims(2 * axes, 0));
  Dims pads(2 * axes, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = (weight[2 + i] - 1) * dilations[i] + 1;
    const std::int64_t total = strides[i] * (input[2 + i] - 1) + extra[i] + extent - output[2 + i];
    const std::int64_t smaller = total / 2;
    const std::int64_t larger = total - smaller;
    // As the op shares it out: the larger half in front, unless SAME_UPPER asks for the end.
    pads[i] = words == "SAME_UPPER" ? smaller : larger;
    pads[axes + i] = words == "SAME_UPPER" ? larger : smaller;
  }
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
  give_bias(context, gradient);
}

}  // namespace

void add_convolution_gradients(GradientTable& table) {
  table["Conv"] = convolution;
  table["ConvTranspose"] = transposed_convolution;
}

}  // namespace assay
