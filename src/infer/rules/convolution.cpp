// Conv, ConvTranspose and their quantised and deformable variants.
#include "base/checked.h"
#include "infer/rules.h"
#include "infer/windows.h"

namespace assay::infer {

namespace {

// The kernel's spatial size, from the weight or the attribute, which must agree.
Dims kernel_of(const InferContext& context, const Shape* weight, std::size_t axes) {
  const Dims declared = context.node().ints_or("kernel_shape", {});
  if (!declared.empty()) kernel_attribute(context, axes);
  if (weight == nullptr) return declared.empty() ? Dims(axes, -1) : declared;
  Dims kernel;
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim given = declared.empty() ? Dim() : Dim(declared[i]);
    const Dim dim =
        equal_dims(context, (*weight)[2 + i], given, "the weight's size and kernel_shape differ");
    if (dim.value() == 0) context.fail("the weight {} has no elements", weight->to_string());
    kernel.push_back(dim.value());
  }
  return kernel;
}

std::int64_t group_of(const InferContext& context) {
  const std::int64_t group = context.node().int_or("group", 1);
  if (group < 1) context.fail("group {} is not positive", group);
  return group;
}

void check_channels(const InferContext& context, const Dim& channels, const Dim& per_group,
                    std::int64_t group) {
  if (!channels.is_known() || !per_group.is_known()) return;
  const auto expected = checked_multiply(per_group.value(), group);
  if (expected == channels.value()) return;
  context.fail("input has {} channels, weight expects {}", channels.value(), expected.value_or(-1));
}

// The common rank of input and weight; nothing when neither is known.
std::optional<std::size_t> common_rank(const InferContext& context, const Shape* input,
                                       const Shape* weight) {
  if (input != nullptr && weight != nullptr && input->rank() != weight->rank()) {
    context.fail("input has rank {} ({}), weight has rank {} ({})", input->rank(),
                 input->to_string(), weight->rank(), weight->to_string());
  }
  const Shape* either = input != nullptr ? input : weight;
  if (either == nullptr) return std::nullopt;
  if (either->rank() < 3)
    context.fail("needs at least one spatial axis, got {}", either->to_string());
  return either->rank();
}

}  // namespace

std::optional<Shape> convolved_shape(const InferContext& context, const Shape* input,
                                     const Shape* weight) {
  const auto rank = common_rank(context, input, weight);
  if (!rank) return std::nullopt;
  const Windows windows = windows_of(context, kernel_of(context, weight, *rank - 2));
  const std::int64_t group = group_of(context);
  if (input != nullptr && weight != nullptr)
    check_channels(context, (*input)[1], (*weight)[1], group);
  Shape output = unknown_shape(*rank);
  if (weight != nullptr) {
    output[1] = (*weight)[0];
    if (output[1].is_known()) divided(context, output[1], group, "group");
  }
  if (input == nullptr) return output;
  output[0] = (*input)[0];
  for (std::size_t i = 0; i < *rank - 2; ++i)
    output[2 + i] = window_count(context, windows, i, (*input)[2 + i]);
  return output;
}

namespace {

void check_bias(const InferContext& context, std::size_t input, const Dim& channels) {
  if (!context.has(input)) return;
  const Shape* bias = context.shape_of_rank(input, 1);
  if (bias != nullptr) equal_dims(context, (*bias)[0], channels, "bias and output channels differ");
}

struct ConvolutionInputs {
  std::size_t weight = 1;
  std::optional<std::size_t> bias = 2;
};

std::optional<Shape> convolved(const InferContext& context, ConvolutionInputs inputs) {
  auto output = convolved_shape(context, context.shape(0), context.shape(inputs.weight));
  if (output && inputs.bias) check_bias(context, *inputs.bias, (*output)[1]);
  return output;
}

}  // namespace

void convolution(InferContext& context) {
  context.set(0, context.element(0), convolved(context, {}));
}

namespace {

void integer_convolution(InferContext& context) {
  context.set(0, DataType::Int32, convolved(context, {.weight = 1, .bias = std::nullopt}));
}

void quantised_convolution(InferContext& context) {
  context.set(0, context.has(7) ? context.element(7) : context.element(0),
              convolved(context, {.weight = 3, .bias = 8}));
}

void deformable_convolution(InferContext& context) {
  context.set(0, context.element(0), convolved(context, {.weight = 1, .bias = 3}));
}

// stride · (in - 1) + output_padding + extent - pads
Dim transposed_size(const InferContext& context, const Windows& windows, std::size_t axis,
                    const Dim& dim, std::int64_t extra) {
  const Dim stride(windows.strides[axis]);
  if (windows.is_same()) return multiplied(context, dim, stride);
  if (!dim.is_known() || windows.kernel[axis] < 0) return Dim();
  if (dim.value() == 0) context.fail("spatial axis {} is empty", axis);
  const Dim spread = multiplied(context, Dim(dim.value() - 1), stride);
  const Dim covered =
      added(context, added(context, spread, window_extent(context, windows, axis)), extra);
  const auto pads = checked_add(windows.pads[axis], windows.pads[windows.axes() + axis]);
  if (!pads || *pads == INT64_MIN) context.fail("pads of axis {} overflow", axis);
  return added(context, covered, -*pads);
}

// The attribute may name the spatial axes alone or all axes.
Dims wanted_output(const InferContext& context, std::size_t axes) {
  Dims wanted = context.node().ints_or("output_shape", {});
  if (wanted.size() == axes + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != axes)
    context.fail("output_shape has {} numbers for {} spatial axes", wanted.size(), axes);
  for (const std::int64_t dim : wanted) {
    if (dim < 0) context.fail("output_shape holds {}", dim);
  }
  return wanted;
}

void transposed_convolution(InferContext& context) {
  const Shape* input = context.shape(0);
  const Shape* weight = context.shape(1);
  const auto rank = common_rank(context, input, weight);
  if (!rank) return context.set(0, context.element(0));
  const std::size_t axes = *rank - 2;
  const Windows windows = windows_of(context, kernel_of(context, weight, axes));
  const Dims extra = context.counted_ints("output_padding", axes, 0, 0);
  const Dims wanted = wanted_output(context, axes);
  Shape output = unknown_shape(*rank);
  if (weight != nullptr) {
    output[1] = multiplied(context, (*weight)[1], Dim(group_of(context)));
    divided(context, (*weight)[0], group_of(context), "group");
    check_bias(context, 2, output[1]);
  }
  if (input != nullptr) {
    if (weight != nullptr)
      equal_dims(context, (*input)[1], (*weight)[0], "input channels and weight differ");
    output[0] = (*input)[0];
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (!wanted.empty())
      output[2 + i] = Dim(wanted[i]);
    else if (input != nullptr)
      output[2 + i] = transposed_size(context, windows, i, (*input)[2 + i], extra[i]);
  }
  context.set(0, context.element(0), output);
}

}  // namespace

void add_convolution_rules(RuleTable& table) {
  table["Conv"] = convolution;
  table["ConvInteger"] = integer_convolution;
  table["QLinearConv"] = quantised_convolution;
  table["DeformConv"] = deformable_convolution;
  table["ConvTranspose"] = transposed_convolution;
}

}  // namespace assay::infer
