// Ops that create tensors from shapes, numbers and random generators.
#include "base/text.h"
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

void constant(InferContext& context) {
  const Node& node = context.node();
  const auto length = [](const auto& list) {
    return Shape{Dim(static_cast<std::int64_t>(list.size()))};
  };
  if (const auto* tensor = node.get<Tensor>("value"))
    return context.set(0, tensor->type(), tensor->shape());
  if (node.find("value_int") != nullptr) return context.set(0, DataType::Int64, Shape{});
  if (node.find("value_float") != nullptr) return context.set(0, DataType::Float32, Shape{});
  if (node.find("value_string") != nullptr) return context.set(0, DataType::String, Shape{});
  if (const auto* list = node.get<Dims>("value_ints"))
    return context.set(0, DataType::Int64, length(*list));
  if (const auto* list = node.get<std::vector<float>>("value_floats"))
    return context.set(0, DataType::Float32, length(*list));
  if (const auto* list = node.get<std::vector<std::string>>("value_strings"))
    return context.set(0, DataType::String, length(*list));
  context.fail("has none of the attributes that give a value");
}

Shape checked_shape(const InferContext& context, const Dims& dims) {
  for (const std::int64_t dim : dims) {
    if (dim < 0) context.fail("shape {} holds a negative dimension", join_dims(dims));
  }
  return Shape(dims);
}

void constant_of_shape(InferContext& context) {
  const auto* value = context.node().get<Tensor>("value");
  const DataType element = value != nullptr ? value->type() : DataType::Float32;
  const Shape* target = context.shape_of_rank(0, 1);
  if (const auto dims = context.ints(0))
    return context.set(0, element, checked_shape(context, *dims));
  context.leave_open("the shape to make is only known at run time");
  const bool has_rank = target != nullptr && (*target)[0].is_known() && (*target)[0].value() <= 64;
  if (!has_rank) return context.set(0, element);
  context.set(0, element, unknown_shape(static_cast<std::size_t>((*target)[0].value())));
}

void shape(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, DataType::Int64, Shape{Dim()});
  const auto rank = static_cast<std::int64_t>(input->rank());
  const Node& node = context.node();
  const auto range =
      kernels::slice_range(rank, node.int_or("start", 0), node.int_or("end", rank), 1);
  context.set(0, DataType::Int64, Shape{Dim(range.count)});
}

void size(InferContext& context) {
  context.type(0);
  context.set(0, DataType::Int64, Shape{});
}

std::optional<std::int64_t> known_range_count(const InferContext& context) {
  const Tensor* parts[] = {context.known(0), context.known(1), context.known(2)};
  for (const Tensor* part : parts) {
    if (part == nullptr) return std::nullopt;
    if (part->elements() != 1) context.fail("start, limit and delta must be scalars");
  }
  const auto count = is_floating(parts[0]->type())
                         ? kernels::range_count(parts[0]->to_double()[0], parts[1]->to_double()[0],
                                                parts[2]->to_double()[0])
                         : kernels::range_count(parts[0]->to_int64()[0], parts[1]->to_int64()[0],
                                                parts[2]->to_int64()[0]);
  if (!count) context.fail("delta is 0 or the range has no end");
  return count;
}

void range(InferContext& context) {
  context.type(2);
  const auto count = known_range_count(context);
  context.leave_open("its bounds are only known at run time");
  context.set(0, context.element(0), Shape{count ? Dim(*count) : Dim()});
}

void eye_like(InferContext& context) {
  context.shape_of_rank(0, 2);
  context.set(0, context.type_from("dtype", context.element(0)), context.type(0).shape);
}

void random_of_shape(InferContext& context) {
  const auto* dims = context.node().get<Dims>("shape");
  if (dims == nullptr) context.fail("names no shape");
  context.set(0, context.type_from("dtype", DataType::Float32), checked_shape(context, *dims));
}

void random_like(InferContext& context) {
  context.set(0, context.type_from("dtype", context.element(0)), context.type(0).shape);
}

void multinomial(InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 2);
  const std::int64_t samples = context.node().int_or("sample_size", 1);
  if (samples < 0) context.fail("sample_size {} is negative", samples);
  context.set(0, context.type_from("dtype", DataType::Int32),
              Shape{input != nullptr ? (*input)[0] : Dim(), Dim(samples)});
}

}  // namespace

void add_creation_rules(RuleTable& table) {
  table["Constant"] = constant;
  table["ConstantOfShape"] = constant_of_shape;
  table["Shape"] = shape;
  table["Size"] = size;
  table["Range"] = range;
  table["EyeLike"] = eye_like;
  table["RandomNormal"] = random_of_shape;
  table["RandomUniform"] = random_of_shape;
  table["RandomNormalLike"] = random_like;
  table["RandomUniformLike"] = random_like;
  table["Multinomial"] = multinomial;
}

}  // namespace assay::infer
