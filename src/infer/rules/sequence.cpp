// Sequences and optionals: the type of their elements, and shapes where an element is extracted.
#include "base/fail.h"
#include "infer/dims.h"
#include "infer/inference.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

// Types are processed recursively, so their nesting needs a limit.
constexpr int kDeepestType = 16;

int depth_of(const ValueType& type) {
  int depth = 0;
  for (const ValueType* at = type.inner.get(); at != nullptr; at = at->inner.get()) ++depth;
  return depth;
}

ValueType holder(ValueType::Kind kind, ValueType inner) {
  if (depth_of(inner) >= kDeepestType) {
    fail_bad_input("sequences and optionals are nested more than {} deep", kDeepestType);
  }
  ValueType type;
  type.kind = kind;
  type.inner = std::make_shared<const ValueType>(std::move(inner));
  return type;
}

ValueType sequence_of(ValueType inner) {
  return holder(ValueType::Kind::Sequence, std::move(inner));
}

const ValueType& inner_of(const InferContext& context, std::size_t input) {
  const ValueType& type = context.type(input);
  static const ValueType nothing;
  return type.inner != nullptr ? *type.inner : nothing;
}

void construct(InferContext& context) {
  ValueType inner = context.type(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    inner = either_type(context, inner, context.type(i), "an element of the sequence");
  }
  context.set(0, sequence_of(std::move(inner)));
}

void empty(InferContext& context) {
  context.set(0, sequence_of(tensor_type(context.type_from("dtype", DataType::Float32))));
}

void at(InferContext& context) {
  context.set(0, inner_of(context, 0));
}

void insert(InferContext& context) {
  const ValueType& element = inner_of(context, 0);
  const bool holds_unknown = element.is_tensor() && !element.shape;
  context.set(0, sequence_of(holds_unknown ? element
                                           : either_type(context, element, context.type(1),
                                                         "an element of the sequence")));
}

void length(InferContext& context) {
  context.type(0);
  context.set(0, DataType::Int64, Shape{});
}

void concat_from(InferContext& context) {
  const ValueType& element = inner_of(context, 0);
  context.set(0, element.element);
}

void split_to(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  if (input == nullptr) return context.set(0, sequence_of(tensor_type(context.element(0))));
  const std::size_t axis = context.axis(context.node().int_or("axis", 0), input->rank());
  std::vector<Dim> dims = dims_of(*input);
  const bool splits_singly = !context.has(1);
  dims[axis] = splits_singly ? Dim(1) : Dim();
  if (splits_singly && context.node().int_or("keepdims", 1) == 0)
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  context.set(0, sequence_of(tensor_type(context.element(0), Shape(dims))));
}

void optional(InferContext& context) {
  const auto* declared = context.node().get<ValueType>("type");
  if (!context.has(0) && declared == nullptr) context.fail("has neither an input nor a type");
  context.set(0, holder(ValueType::Kind::Optional, context.has(0) ? context.type(0) : *declared));
}

void has_element(InferContext& context) {
  context.set(0, DataType::Bool, Shape{});
}

void get_element(InferContext& context) {
  const bool is_optional = context.type(0).kind == ValueType::Kind::Optional;
  context.set(0, is_optional ? inner_of(context, 0) : context.type(0));
}

}  // namespace

void add_sequence_rules(RuleTable& table) {
  table["SequenceConstruct"] = construct;
  table["SequenceEmpty"] = empty;
  table["SequenceAt"] = at;
  table["SequenceInsert"] = insert;
  table["SequenceErase"] = same_as_input;
  table["SequenceLength"] = length;
  table["ConcatFromSequence"] = concat_from;
  table["SplitToSequence"] = split_to;
  table["Optional"] = optional;
  table["OptionalHasElement"] = has_element;
  table["OptionalGetElement"] = get_element;
}

}  // namespace assay::infer
