// Slicing, joining and padding: Slice, Split, Concat, Pad, CenterCropPad, Col2Im.
#include <numeric>

#include "base/checked.h"
#include "base/text.h"
#include "infer/rules.h"
#include "infer/windows.h"

namespace assay::infer {

namespace {

Dims first_axes(std::size_t count) {
  Dims axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// What a Slice selects from an unknown dimension: all of it, if the bounds say so.
Dim sliced_dim(const Dim& dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim.is_known()) return Dim(kernels::slice_range(dim.value(), start, end, step).count);
  constexpr std::int64_t kNoEnd = std::int64_t{1} << 31;
  const bool takes_all = start == 0 && end >= kNoEnd - 1 && step == 1;
  return takes_all ? dim : Dim();
}

// The bounds are only known at run time: the sliced axes are unknown, the others do not change.
void slice_with_open_bounds(InferContext& context, const Shape& input,
                            const InferContext::MaybeInts& axes) {
  Shape result = input;
  const Shape* starts = context.has(1) ? context.shape(1) : nullptr;
  const bool counts_axes = starts != nullptr && starts->rank() == 1 && (*starts)[0].is_known() &&
                           (*starts)[0].value() <= static_cast<std::int64_t>(input.rank());
  std::optional<Dims> cut = axes.values;
  if (!axes.is_given && counts_axes)
    cut = first_axes(static_cast<std::size_t>((*starts)[0].value()));
  if (!cut) cut = first_axes(input.rank());
  for (const std::size_t axis : context.axes(*cut, input.rank())) result[axis] = Dim();
  context.set(0, context.element(0), result);
  context.leave_open("where to slice is only known at run time");
}

void slice(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, context.element(0));
  const auto starts = context.ints_from("starts", 1);
  const auto ends = context.ints_from("ends", 2);
  const auto axes = context.ints_from("axes", 3);
  const auto steps = context.ints_from("steps", 4);
  if (!starts.is_given || !ends.is_given) context.fail("starts or ends are missing");
  const bool is_open = !starts.values || !ends.values || (axes.is_given && !axes.values) ||
                       (steps.is_given && !steps.values);
  if (is_open) return slice_with_open_bounds(context, *input, axes);
  const std::size_t count = starts.values->size();
  const Dims chosen = axes.is_given ? *axes.values : first_axes(count);
  const Dims stride = steps.is_given ? *steps.values : Dims(count, 1);
  if (ends.values->size() != count || chosen.size() != count || stride.size() != count) {
    context.fail("starts, ends, axes and steps have {}, {}, {} and {} numbers", count,
                 ends.values->size(), chosen.size(), stride.size());
  }
  context.axes(chosen, input->rank());
  Shape result = *input;
  for (std::size_t i = 0; i < count; ++i) {
    if (stride[i] == 0) context.fail("a step is 0");
    Dim& dim = result[context.axis(chosen[i], input->rank())];
    dim = sliced_dim(dim, (*starts.values)[i], (*ends.values)[i], stride[i]);
  }
  context.set(0, context.element(0), result);
}

// Equal parts; since opset 18 the last may be smaller.
std::vector<Dim> even_parts(const InferContext& context, const Dim& dim, std::size_t parts) {
  std::vector<Dim> lengths(parts);
  if (!dim.is_known() || parts == 0) return lengths;
  const auto count = static_cast<std::int64_t>(parts);
  if (context.opset() < 18 && dim.value() % count != 0)
    context.fail("cannot split {} into {} equal parts", dim.value(), count);
  const std::int64_t each = dim.value() / count + (dim.value() % count == 0 ? 0 : 1);
  std::int64_t rest = dim.value();
  for (Dim& length : lengths) {
    length = Dim(std::min(each, rest));
    rest -= length.value();
  }
  return lengths;
}

std::vector<Dim> given_parts(const InferContext& context, const Dims& given, const Dim& dim) {
  if (given.size() != context.output_count())
    context.fail("split names {} parts for {} outputs", given.size(), context.output_count());
  std::int64_t total = 0;
  for (const std::int64_t part : given) {
    if (part < 0) context.fail("split {} holds a negative length", join_dims(given));
    total = saturating_add(total, part);
  }
  if (dim.is_known() && total != dim.value()) {
    context.fail("split {} sums to {}, the axis has {}", join_dims(given), total, dim.value());
  }
  return {given.begin(), given.end()};
}

void split(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  const auto given = context.ints_from("split", 1);
  if (input == nullptr) {
    for (std::size_t i = 0; i < context.output_count(); ++i) context.set(i, context.element(0));
    return;
  }
  const std::size_t axis = context.axis(context.node().int_or("axis", 0), input->rank());
  std::vector<Dim> parts(context.output_count());
  if (given.values && !given.values->empty())
    parts = given_parts(context, *given.values, (*input)[axis]);
  else if (!given.is_given || given.values)
    parts = even_parts(context, (*input)[axis], context.output_count());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shape result = *input;
    result[axis] = parts[i];
    context.set(i, context.element(0), result);
  }
}

void concat(InferContext& context) {
  std::optional<Shape> result;
  std::size_t axis = 0;
  bool is_open = false;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape* part = context.shape(i);
    if (part == nullptr) is_open = true;
    if (part == nullptr) continue;
    if (!result) {
      axis = context.axis(context.node().int_or("axis", 1), part->rank());
      result = *part;
      continue;
    }
    if (part->rank() != result->rank())
      context.fail("input {} has rank {}, the others {}", i, part->rank(), result->rank());
    for (std::size_t at = 0; at < part->rank(); ++at) {
      (*result)[at] = at == axis ? sum_of(context, (*result)[at], (*part)[at])
                                 : equal_dims(context, (*result)[at], (*part)[at],
                                              "dimensions beside the axis differ");
    }
  }
  if (is_open && result) (*result)[axis] = Dim();
  context.set(0, context.element(0), result);
}

// One begin and one end for every axis, begins first.
std::optional<Dims> pads_of(const InferContext& context, std::size_t rank) {
  const auto given = context.ints_from("pads", 1);
  if (!given.is_given) context.fail("names no pads");
  if (!given.values) return std::nullopt;
  if (context.has(3) && !context.ints(3)) return std::nullopt;
  const Dims axes = context.has(3) ? *context.ints(3) : first_axes(rank);
  if (given.values->size() != 2 * axes.size())
    context.fail("{} pads for {} axes", given.values->size(), axes.size());
  context.axes(axes, rank);
  Dims pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = context.axis(axes[i], rank);
    pads[axis] = (*given.values)[i];
    pads[rank + axis] = (*given.values)[axes.size() + i];
  }
  return pads;
}

void pad(InferContext& context) {
  const Shape* input = context.shape(0);
  if (input == nullptr) return context.set(0, context.element(0));
  const std::size_t rank = input->rank();
  const auto pads = pads_of(context, rank);
  if (!pads) return context.set(0, context.element(0), unknown_shape(rank));
  Shape result = *input;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto both = checked_add((*pads)[axis], (*pads)[rank + axis]);
    if (!both) context.fail("pads {} and {} overflow", (*pads)[axis], (*pads)[rank + axis]);
    result[axis] = added(context, result[axis], *both);
  }
  context.set(0, context.element(0), result);
}

void center_crop_pad(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto wanted = context.ints(1);
  if (input == nullptr) return context.set(0, context.element(0));
  const Dims axes = context.node().ints_or("axes", first_axes(input->rank()));
  Shape result = *input;
  if (wanted && wanted->size() != axes.size())
    context.fail("shape has {} numbers for {} axes", wanted->size(), axes.size());
  context.axes(axes, input->rank());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (wanted && (*wanted)[i] < 0) context.fail("shape holds {}", (*wanted)[i]);
    result[context.axis(axes[i], input->rank())] = wanted ? Dim((*wanted)[i]) : Dim();
  }
  context.set(0, context.element(0), result);
}

// (N, C·kernel, windows) back to (N, C, image).
void columns_to_image(InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 3);
  const auto image = context.ints(1);
  const auto block = context.ints(2);
  if (!image || !block) return context.set(0, context.element(0));
  const auto area = checked_product(*block);
  if (!area) context.fail("block {} is not a size", join_dims(*block));
  Shape result{Dim(), Dim()};
  if (input != nullptr)
    result = Shape{(*input)[0], divided(context, (*input)[1], *area, "block size")};
  for (const std::int64_t dim : *image) {
    if (dim < 0) context.fail("image shape holds {}", dim);
    result.push_back(Dim(dim));
  }
  context.set(0, context.element(0), result);
}

}  // namespace

void add_slicing_rules(RuleTable& table) {
  table["Slice"] = slice;
  table["Split"] = split;
  table["Concat"] = concat;
  table["Pad"] = pad;
  table["CenterCropPad"] = center_crop_pad;
  table["Col2Im"] = columns_to_image;
}

}  // namespace assay::infer
