// Reductions over axes: Reduce*, ArgMax, ArgMin, and TopK.
#include <algorithm>

#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

Shape folded(const Shape& input, const std::vector<std::size_t>& axes, bool keeps) {
  Shape result;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    const bool is_folded = std::ranges::find(axes, axis) != axes.end();
    if (!is_folded)
      result.push_back(input[axis]);
    else if (keeps)
      result.push_back(Dim(1));
  }
  return result;
}

Shape all_folded(const Shape& input, bool keeps) {
  return keeps ? Shape(std::vector<Dim>(input.rank(), Dim(1))) : Shape();
}

// If the axes are unknown, their number may be known, and with it the rank.
std::optional<Shape> folded_at_unknown_axes(const InferContext& context, const Shape& input,
                                            bool keeps) {
  if (keeps) return unknown_shape(input.rank());
  const Shape* axes = context.shape(1);
  if (axes == nullptr || axes->rank() != 1 || !(*axes)[0].is_known()) return std::nullopt;
  const auto count = static_cast<std::size_t>((*axes)[0].value());
  if (count == 0 || count > input.rank()) return std::nullopt;
  return unknown_shape(input.rank() - count);
}

void reduce(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto axes = context.ints_from("axes", 1);
  const bool keeps = context.node().int_or("keepdims", 1) != 0;
  const bool does_nothing_without_axes = context.node().int_or("noop_with_empty_axes", 0) != 0;
  if (input == nullptr) return context.set(0, context.element(0));
  if (axes.is_given && !axes.values)
    return context.set(0, context.element(0), folded_at_unknown_axes(context, *input, keeps));
  const bool names_axes = axes.is_given && !axes.values->empty();
  if (names_axes)
    return context.set(0, context.element(0),
                       folded(*input, context.axes(*axes.values, input->rank()), keeps));
  if (does_nothing_without_axes) return same_as_input(context);
  context.set(0, context.element(0), all_folded(*input, keeps));
}

void position(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, DataType::Int64);
  const std::size_t axis = context.axis(context.node().int_or("axis", 0), input->rank());
  context.set(0, DataType::Int64,
              folded(*input, {axis}, context.node().int_or("keepdims", 1) != 0));
}

void top_k(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  if (input == nullptr) {
    context.set(0, context.element(0));
    return context.set(1, DataType::Int64);
  }
  const std::size_t axis = context.axis(context.node().int_or("axis", -1), input->rank());
  std::optional<std::int64_t> count = context.has(1) ? context.integer(1) : std::nullopt;
  if (const auto* attribute = context.node().get<std::int64_t>("k")) count = *attribute;
  const Dim& available = (*input)[axis];
  if (count && (*count < 0 || (available.is_known() && *count > available.value()))) {
    context.fail("k is {}, axis {} has {}", *count, axis, available.to_string());
  }
  Shape result = *input;
  result[axis] = count ? Dim(*count) : Dim();
  context.set(0, context.element(0), result);
  context.set(1, DataType::Int64, result);
}

}  // namespace

void add_reduction_rules(RuleTable& table) {
  for (const char* op :
       {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
        "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    table[op] = reduce;
  }
  table["ArgMax"] = position;
  table["ArgMin"] = position;
  table["TopK"] = top_k;
}

}  // namespace assay::infer
