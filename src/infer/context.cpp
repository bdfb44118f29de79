#include "infer/context.h"

#include <algorithm>

#include "base/text.h"

namespace assay::infer {

InferContext::InferContext(const Graph& graph, const std::vector<Tensor>& known, const Node& node)
    : graph_(graph),
      known_(known),
      node_(node),
      opset_(graph.opset(node.domain)),
      outputs_(node.outputs.size()) {
  if (node.domain == "ai.onnx") opset_ = graph.opset();
}

const ValueType& InferContext::type(std::size_t input) const {
  if (!has(input)) fail("input {} is missing", input);
  return graph_.value(node_.inputs[input]).type;
}

const Shape* InferContext::shape(std::size_t input) const {
  const auto& known_shape = type(input).shape;
  return known_shape ? &*known_shape : nullptr;
}

const Shape* InferContext::shape_of_rank(std::size_t input, std::size_t rank) const {
  const Shape* given = shape(input);
  if (given != nullptr && given->rank() != rank) {
    fail("input {} has rank {} ({}), needs {}", input, given->rank(), given->to_string(), rank);
  }
  return given;
}

const Shape* InferContext::shape_of_rank_at_least(std::size_t input, std::size_t rank) const {
  const Shape* given = shape(input);
  if (given != nullptr && given->rank() < rank) {
    fail("input {} has rank {} ({}), needs at least {}", input, given->rank(), given->to_string(),
         rank);
  }
  return given;
}

const Tensor* InferContext::known(std::size_t input) const {
  if (!has(input)) return nullptr;
  const Tensor& content = known_[node_.inputs[input].number];
  return content.has_value() ? &content : nullptr;
}

const Tensor* InferContext::stored(std::size_t input) const {
  const Tensor* content = known(input);
  return content != nullptr || !has(input) ? content : graph_.initializer(node_.inputs[input]);
}

const std::string& InferContext::input_name(std::size_t input) const {
  return graph_.value(node_.inputs[input]).name;
}

std::optional<Dims> InferContext::ints(std::size_t input) const {
  const Tensor* content = known(input);
  if (content == nullptr || content->type() == DataType::String) return std::nullopt;
  return content->to_int64();
}

std::optional<std::int64_t> InferContext::integer(std::size_t input) const {
  const auto content = ints(input);
  if (!content) return std::nullopt;
  if (content->size() != 1)
    fail("input {} holds {} numbers instead of one", input, content->size());
  return content->front();
}

std::optional<std::vector<double>> InferContext::numbers(std::size_t input) const {
  const Tensor* content = known(input);
  if (content == nullptr || content->type() == DataType::String) return std::nullopt;
  return content->to_double();
}

std::size_t InferContext::axis(std::int64_t axis, std::size_t rank) const {
  const auto normalized = kernels::normalized_axis(axis, rank);
  if (!normalized) fail("axis {} is out of range for rank {}", axis, rank);
  return *normalized;
}

std::vector<std::size_t> InferContext::axes(const Dims& axes, std::size_t rank) const {
  auto normalized = kernels::normalized_axes(axes, rank);
  if (!normalized)
    fail("axes [{}] are out of range for rank {} or not unique", join_dims(axes), rank);
  return *normalized;
}

InferContext::MaybeInts InferContext::ints_from(const char* attribute, std::size_t input) const {
  if (const auto* values = node_.get<Dims>(attribute)) return {true, *values};
  if (has(input)) return {true, ints(input)};
  return {};
}

DataType InferContext::type_from(const char* attribute, DataType otherwise) const {
  const auto type =
      data_type_from_onnx(node_.int_or(attribute, static_cast<std::int64_t>(otherwise)));
  if (!type)
    fail("attribute '{}' is {}, which names no element type", attribute,
         node_.int_or(attribute, 0));
  return *type;
}

Dims InferContext::counted_ints(const char* attribute, std::size_t count, std::int64_t otherwise,
                                std::int64_t least) const {
  Dims values = node_.ints_or(attribute, {});
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    fail("attribute '{}' has {} numbers, needs {}", attribute, values.size(), count);
  for (const std::int64_t value : values) {
    if (value < least)
      fail("attribute '{}' holds {}, must be at least {}", attribute, value, least);
  }
  return values;
}

void InferContext::set(std::size_t output, DataType element, std::optional<Shape> shape) {
  set(output, tensor_type(element, std::move(shape)));
}

void InferContext::set(std::size_t output, ValueType type) {
  constexpr std::size_t kMostAxes = 64;  // no framework has more, and every step would be slow
  if (type.shape && type.shape->rank() > kMostAxes) {
    fail("its output would have {} axes, more than {}", type.shape->rank(), kMostAxes);
  }
  if (node_.has_output(output)) outputs_[output] = std::move(type);
}

std::string InferContext::node_name() const {
  return assay::infer::node_name(graph_, node_);
}

void InferContext::fail_with(const std::string& message) const {
  fail_bad_input("{} '{}': {}", node_.op, node_name(), message);
}

std::string node_name(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return node.name;
  for (const ValueId output : node.outputs) {
    if (output.is_valid()) return graph.value(output).name;
  }
  return "";
}

}  // namespace assay::infer
