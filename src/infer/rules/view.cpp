// The same elements under other dimensions, and permutations and repetitions of them.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

// The product of dimensions as far as known, and those that are not.
struct PartialProduct {
  std::int64_t known = 1;
  std::vector<Dim> open;
};

void include(const InferContext& context, PartialProduct& product, const Dim& dim) {
  if (!dim.is_known()) return product.open.push_back(dim);
  const auto next = checked_multiply(product.known, dim.value());
  if (!next) context.fail("the number of elements overflows");
  product.known = *next;
}

// The value of -1, from the input dimensions without the copied ones.
Dim inferred_dim(const InferContext& context, const PartialProduct& input,
                 const PartialProduct& wanted) {
  if (!wanted.open.empty() || wanted.known == 0) return Dim();
  if (input.open.size() == 1 && input.known == wanted.known) return input.open.front();
  if (!input.open.empty()) return Dim();
  if (input.known % wanted.known != 0)
    context.fail("{} elements are not a multiple of {}", input.known, wanted.known);
  return Dim(input.known / wanted.known);
}

Shape reshaped_open(const InferContext& context, const Shape& input, const Dims& wanted,
                    bool allows_zero) {
  PartialProduct left, right;
  Shape result = unknown_shape(wanted.size());
  std::vector<bool> is_copied(input.rank(), false);
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    const bool copies = wanted[axis] == 0 && !allows_zero;
    if (copies && axis >= input.rank())
      context.fail("cannot copy dimension {} of {}", axis, input.to_string());
    if (wanted[axis] < -1) context.fail("cannot reshape to dimension {}", wanted[axis]);
    if (copies) is_copied[axis] = true;
    if (copies)
      result[axis] = input[axis];
    else if (wanted[axis] >= 0)
      result[axis] = Dim(wanted[axis]);
    if (!copies && wanted[axis] >= 0) include(context, right, result[axis]);
  }
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    if (!is_copied[axis]) include(context, left, input[axis]);
  }
  const auto open = std::ranges::find(wanted, -1);
  if (open != wanted.end())
    result[static_cast<std::size_t>(open - wanted.begin())] = inferred_dim(context, left, right);
  return result;
}

// The target shape is only known at run time, but its length, the rank, may be known.
void reshape_to_unknown(InferContext& context) {
  const Shape* target = context.shape(1);
  const bool has_rank = target != nullptr && target->rank() == 1 && (*target)[0].is_known() &&
                        (*target)[0].value() <= 64;
  const auto rank = has_rank ? static_cast<std::size_t>((*target)[0].value()) : 0;
  context.set(0, context.element(0), has_rank ? std::optional(unknown_shape(rank)) : std::nullopt);
  context.leave_open("the shape to give it is only known at run time");
}

void reshape(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto target = context.ints_from("shape", 1);
  if (!target.is_given) context.fail("names no shape");
  if (!target.values) return reshape_to_unknown(context);
  const Dims& wanted = *target.values;
  const bool allows_zero = context.node().int_or("allowzero", 0) != 0;
  if (std::ranges::count(wanted, -1) > 1)
    context.fail("more than one dimension of {} is -1", join_dims(wanted));
  if (input == nullptr) {
    Shape result = unknown_shape(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] > 0 || (wanted[i] == 0 && allows_zero)) result[i] = Dim(wanted[i]);
    }
    return context.set(0, context.element(0), result);
  }
  if (!input->is_known())
    return context.set(0, context.element(0), reshaped_open(context, *input, wanted, allows_zero));
  const auto dims = kernels::reshaped_dims(input->values(), wanted, allows_zero);
  if (!dims)
    context.fail("cannot reshape {} to {}: the numbers of elements do not agree",
                 input->to_string(), join_dims(wanted));
  context.set(0, context.element(0), Shape(*dims));
}

void flatten(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, context.element(0), unknown_shape(2));
  const auto rank = static_cast<std::int64_t>(input->rank());
  std::int64_t axis = context.node().int_or("axis", 1);
  if (axis < -rank || axis > rank) context.fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const auto dims = dims_of(*input);
  const auto split = std::span(dims);
  const auto at = static_cast<std::size_t>(axis);
  context.set(0, context.element(0),
              Shape{product(context, split.first(at)), product(context, split.subspan(at))});
}

Shape squeezed(const InferContext& context, const Shape& input,
               const std::vector<std::size_t>& axes) {
  Shape result;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end())
      result.push_back(input[axis]);
    else if (input[axis].is_known() && input[axis].value() != 1)
      context.fail("cannot squeeze axis {} of {}: it is {}, not 1", axis, input.to_string(),
                   input[axis].value());
  }
  return result;
}

void squeeze(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto axes = context.ints_from("axes", 1);
  if (input == nullptr || (axes.is_given && !axes.values))
    return context.set(0, context.element(0));
  if (axes.is_given)
    return context.set(0, context.element(0),
                       squeezed(context, *input, context.axes(*axes.values, input->rank())));
  std::vector<std::size_t> ones;
  for (std::size_t axis = 0; axis < input->rank(); ++axis) {
    if (!(*input)[axis].is_known()) return context.set(0, context.element(0));
    if ((*input)[axis].value() == 1) ones.push_back(axis);
  }
  context.set(0, context.element(0), squeezed(context, *input, ones));
}

void unsqueeze(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto axes = context.ints_from("axes", 1);
  if (!axes.is_given) context.fail("names no axes");
  if (input == nullptr || !axes.values) return context.set(0, context.element(0));
  if (axes.values->size() > 64) context.fail("adds {} axes", axes.values->size());
  std::vector<Dim> dims = dims_of(*input);
  for (const std::size_t axis : context.axes(*axes.values, dims.size() + axes.values->size())) {
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
  }
  context.set(0, context.element(0), Shape(dims));
}

void transpose(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, context.element(0));
  Dims reversed(input->rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Dims order = context.node().ints_or("perm", reversed);
  if (order.size() != input->rank())
    context.fail("perm names {} axes, input {} has {}", order.size(), input->to_string(),
                 input->rank());
  context.axes(order, input->rank());
  Shape result;
  for (const std::int64_t from : order)
    result.push_back((*input)[context.axis(from, input->rank())]);
  context.set(0, context.element(0), result);
}

void expand(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto wanted = context.ints(1);
  if (!wanted) {
    context.type(1);
    context.leave_open("the shape to expand to is only known at run time");
    return context.set(0, context.element(0));
  }
  for (const std::int64_t dim : *wanted) {
    if (dim < 0) context.fail("cannot expand to {}", join_dims(*wanted));
  }
  context.set(
      0, context.element(0),
      input == nullptr ? std::nullopt : std::optional(broadcast(context, *input, Shape(*wanted))));
}

void tile(InferContext& context) {
  const Shape* input = context.shape(0);
  context.type(1);
  const auto repeats = context.ints(1);
  if (input == nullptr) return context.set(0, context.element(0));
  if (!repeats) return context.set(0, context.element(0), unknown_shape(input->rank()));
  if (repeats->size() != input->rank())
    context.fail("{} repeats for input {} of rank {}", repeats->size(), input->to_string(),
                 input->rank());
  Shape result = *input;
  for (std::size_t axis = 0; axis < result.rank(); ++axis) {
    if ((*repeats)[axis] < 0) context.fail("repeats axis {} {} times", axis, (*repeats)[axis]);
    result[axis] = multiplied(context, result[axis], Dim((*repeats)[axis]));
  }
  context.set(0, context.element(0), result);
}

std::int64_t block_size(const InferContext& context) {
  const std::int64_t block = context.node().int_or("blocksize", 0);
  if (block < 1) context.fail("blocksize {} is not positive", block);
  return block;
}

void depth_to_space(InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 4);
  const std::int64_t block = block_size(context);
  if (input == nullptr) return context.set(0, context.element(0), unknown_shape(4));
  const Dim area = multiplied(context, Dim(block), Dim(block));
  context.set(0, context.element(0),
              Shape{(*input)[0], divided(context, (*input)[1], area.value(), "blocksize squared"),
                    multiplied(context, (*input)[2], Dim(block)),
                    multiplied(context, (*input)[3], Dim(block))});
}

void space_to_depth(InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 4);
  const std::int64_t block = block_size(context);
  if (input == nullptr) return context.set(0, context.element(0), unknown_shape(4));
  const Dim area = multiplied(context, Dim(block), Dim(block));
  context.set(0, context.element(0),
              Shape{(*input)[0], multiplied(context, (*input)[1], area),
                    divided(context, (*input)[2], block, "blocksize"),
                    divided(context, (*input)[3], block, "blocksize")});
}

}  // namespace

void add_view_rules(RuleTable& table) {
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Transpose"] = transpose;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["DepthToSpace"] = depth_to_space;
  table["SpaceToDepth"] = space_to_depth;
}

}  // namespace assay::infer
