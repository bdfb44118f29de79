#include "transform/gradient/context.h"

#include <algorithm>

#include "kernels/real.h"

namespace assay::transform {

GradientBuilder::GradientBuilder(const Inferred& model)
    : model_(model), graph_(model.graph), given_(model.graph.value_count()) {}

std::vector<ValueId> GradientBuilder::emit(std::string op, std::vector<ValueId> inputs,
                                           std::vector<Attribute> attributes,
                                           std::string_view domain,
                                           const std::vector<bool>& has_output) {
  const std::string name = fmt::format("{}/gradient/{}.{}", prefix_, op, emitted_++);
  Node node{.name = name,
            .op = std::move(op),
            .domain = std::string(domain),
            .inputs = std::move(inputs),
            .attributes = std::move(attributes)};
  for (std::size_t i = 0; i < has_output.size(); ++i) {
    const bool is_only = has_output.size() == 1;
    node.outputs.push_back(has_output[i]
                               ? graph_.add_value(is_only ? name : fmt::format("{}:{}", name, i))
                               : ValueId{});
  }
  if (!domain.empty()) graph_.opsets[std::string(domain)] = 1;
  std::vector<ValueId> results = node.outputs;
  graph_.add_node(std::move(node));
  gradient_of_.push_back(current_);
  return results;
}

ValueId GradientBuilder::constant(Tensor tensor) {
  const ValueId value =
      graph_.add_value(fmt::format("{}/gradient/constant.{}", prefix_, emitted_++),
                       tensor_type(tensor.type(), Shape(tensor.dims())));
  graph_.add_initializer(value, std::move(tensor));
  return value;
}

void GradientBuilder::give(ValueId value, ValueId gradient) {
  given_[value.number].push_back(gradient);
}

ValueId GradientBuilder::total(ValueId value) {
  auto& given = given_[value.number];
  if (given.empty()) return {};
  ValueId sum = given.front();
  for (std::size_t i = 1; i < given.size(); ++i)
    sum = emit("Add", {sum, given[i]}, {}, "", {true})[0];
  given = {sum};
  return sum;
}

Dims GradientContext::dims(ValueId value) const {
  if (!type(value).has_known_shape()) {
    fail("the shape of '{}' is not known", builder_.model().graph.value(value).name);
  }
  return type(value).shape->values();
}

std::size_t GradientContext::axis(std::int64_t given, std::size_t rank) const {
  const auto axis = kernels::normalized_axis(given, rank);
  if (!axis) fail("axis {} is out of range", given);
  return *axis;
}

const Tensor* GradientContext::known(std::size_t input) const {
  return has(input) ? builder_.model().known_value(in(input)) : nullptr;
}

Dims GradientContext::known_ints(std::size_t input) const {
  const Tensor* tensor = known(input);
  if (tensor == nullptr) fail("input {} is not known before running", input);
  return tensor->to_int64();
}

ValueId GradientContext::gradient(std::size_t output) {
  if (!node_.has_output(output)) fail("its output {} is left out", output);
  const ValueId total = builder_.total(out(output));
  return total.is_valid() ? total : expanded(number(0), dims(out(output)));
}

ValueId GradientContext::node(std::string op, std::vector<ValueId> inputs,
                              std::vector<Attribute> attributes) {
  return builder_.emit(std::move(op), std::move(inputs), std::move(attributes), "", {true})[0];
}

ValueId GradientContext::own(std::string op, std::vector<ValueId> inputs,
                             std::vector<Attribute> attributes) {
  return own_with_outputs(std::move(op), std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<ValueId> GradientContext::own_with_outputs(std::string op, std::vector<ValueId> inputs,
                                                       std::size_t outputs,
                                                       std::vector<Attribute> attributes) {
  return builder_.emit(std::move(op), std::move(inputs), std::move(attributes), kOwnDomain,
                       std::vector<bool>(outputs, true));
}

void GradientContext::give_from_own(std::string op, std::vector<ValueId> inputs,
                                    std::span<const std::size_t> receivers,
                                    std::vector<Attribute> attributes) {
  std::vector<bool> are_wanted;
  for (const std::size_t input : receivers) are_wanted.push_back(wants(input));
  const auto gradients = builder_.emit(std::move(op), std::move(inputs), std::move(attributes),
                                       kOwnDomain, are_wanted);
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    if (are_wanted[i]) give(receivers[i], gradients[i]);
  }
}

ValueId GradientContext::number(double number) {
  return builder_.constant(kernels::store_real(type(out()).element, {}, {number}));
}

ValueId GradientContext::ints(const Dims& numbers) {
  return builder_.constant(Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers));
}

ValueId GradientContext::sum(ValueId value, const Dims& axes, bool keeps_axes) {
  const std::int64_t keeps = keeps_axes ? 1 : 0;
  if (opset() >= 13) return node("ReduceSum", {value, ints(axes)}, {{"keepdims", keeps}});
  return node("ReduceSum", {value}, {{"axes", axes}, {"keepdims", keeps}});
}

ValueId GradientContext::slice(ValueId value, const Dims& starts, const Dims& ends,
                               const Dims& axes) {
  return node("Slice", {value, ints(starts), ints(ends), ints(axes)});
}

ValueId GradientContext::sum_to(ValueId value, const Dims& from, const Dims& to) {
  if (from == to) return value;
  const std::size_t lead = from.size() - to.size();
  Dims axes;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (axis < lead || (to[axis - lead] == 1 && from[axis] != 1)) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return reshaped(axes.empty() ? value : sum(value, axes, false), to);
}

std::vector<Attribute> GradientContext::attributes(
    std::initializer_list<std::string_view> names) const {
  std::vector<Attribute> found;
  for (const Attribute& attribute : node_.attributes) {
    if (std::ranges::find(names, attribute.name) != names.end()) found.push_back(attribute);
  }
  return found;
}

std::vector<Attribute> GradientContext::window_attributes() const {
  return attributes({"kernel_shape", "strides", "pads", "dilations", "auto_pad", "group",
                     "ceil_mode", "count_include_pad"});
}

}  // namespace assay::transform
