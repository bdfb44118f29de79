// Ops that move elements: views, Transpose, Concat, Split, Slice, Gather, Pad, Resize, Expand,
// Tile.
#include <algorithm>
#include <numeric>

#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

void view(GradientContext& context) {
  context.give(0, context.reshaped(context.gradient(), context.input_dims(0)));
}

void transpose(GradientContext& context) {
  const std::size_t rank = context.input_dims(0).size();
  Dims order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  order = context.node().ints_or("perm", order);
  Dims back(rank);
  for (std::size_t i = 0; i < rank; ++i)
    back[context.axis(order[i], rank)] = static_cast<std::int64_t>(i);
  context.give(0, context.transposed(context.gradient(), std::move(back)));
}

std::size_t axis_of(const GradientContext& context, std::int64_t otherwise) {
  return context.axis(context.node().int_or("axis", otherwise), context.input_dims(0).size());
}

// Given as an input, or all of them.
Dims axes_or_all(const GradientContext& context, std::size_t input, std::size_t count) {
  if (context.has(input)) return context.known_ints(input);
  Dims axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

void concatenate(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const std::size_t axis = axis_of(context, 0);
  std::int64_t from = 0;
  for (std::size_t i = 0; i < context.node().inputs.size(); ++i) {
    const std::int64_t to = from + context.input_dims(i)[axis];
    if (context.wants(i)) {
      context.give(i, context.slice(gradient, {from}, {to}, {static_cast<std::int64_t>(axis)}));
    }
    from = to;
  }
}

void split(GradientContext& context) {
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < context.node().outputs.size(); ++i) {
    parts.push_back(context.gradient(i));
  }
  const auto axis = static_cast<std::int64_t>(axis_of(context, 0));
  context.give(0, context.node("Concat", std::move(parts), {{"axis", axis}}));
}

void slice(GradientContext& context) {
  const Dims dims = context.input_dims(0);
  const Dims from = context.known_ints(1);
  const Dims to = context.known_ints(2);
  const Dims axes = axes_or_all(context, 3, from.size());
  const Dims by = context.has(4) ? context.known_ints(4) : Dims(from.size(), 1);
  Dims starts(dims.size(), 0);
  Dims steps(dims.size(), 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t axis = context.axis(axes[i], dims.size());
    const kernels::SliceRange range = kernels::slice_range(dims[axis], from[i], to[i], by[i]);
    starts[axis] = range.first;
    steps[axis] = range.step;
  }
  context.give(0, context.own("SliceGradient", {context.gradient()},
                              {{"input_dims", dims}, {"starts", starts}, {"steps", steps}}));
}

void gather(GradientContext& context) {
  context.give(0, context.own("GatherGradient", {context.in(1), context.gradient()},
                              {{"axis", static_cast<std::int64_t>(axis_of(context, 0))},
                               {"input_dims", context.input_dims(0)}}));
}

void pad(GradientContext& context) {
  if (context.node().string_or("mode", "constant") != "constant") {
    context.fail("mode '{}' repeats elements", context.node().string_or("mode", "constant"));
  }
  const Dims dims = context.input_dims(0);
  const Dims pads = context.known_ints(1);
  const Dims axes = axes_or_all(context, 3, dims.size());
  Dims starts;
  Dims ends;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (pads[i] < 0 || pads[axes.size() + i] < 0) context.fail("it cuts elements off");
    starts.push_back(pads[i]);
    ends.push_back(pads[i] + dims[context.axis(axes[i], dims.size())]);
  }
  context.give(0, context.slice(context.gradient(), starts, ends, axes));
}

// Old opsets of Upsample and Resize come here in the form of opset 11.
void resize(GradientContext& context) {
  std::vector<ValueId> inputs = context.node().inputs;
  inputs[0] = context.gradient();
  std::vector<Attribute> attributes = context.node().attributes;
  attributes.push_back({"input_dims", context.input_dims(0)});
  context.give(0, context.own("ResizeGradient", std::move(inputs), std::move(attributes)));
}

void expand(GradientContext& context) {
  context.give_broadcast(0, context.gradient());
}

// As copies beside each axis, which are summed.
void tile(GradientContext& context) {
  const Dims dims = context.input_dims(0);
  const Dims repeats = context.known_ints(1);
  Dims apart;
  Dims copies;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    copies.push_back(static_cast<std::int64_t>(apart.size()));
    apart.push_back(repeats[i]);
    apart.push_back(dims[i]);
  }
  const ValueId sum = context.sum(context.reshaped(context.gradient(), apart), copies, false);
  context.give(0, context.reshaped(sum, dims));
}

// To a type of real numbers; others take no gradient.
void cast(GradientContext& context) {
  const auto type = static_cast<std::int64_t>(context.type(context.in(0)).element);
  context.give(0, context.node("Cast", {context.gradient()}, {{"to", type}}));
}

}  // namespace

void add_movement_gradients(GradientTable& table) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) table[op] = view;
  table["Transpose"] = transpose;
  table["Concat"] = concatenate;
  table["Split"] = split;
  table["Slice"] = slice;
  table["Gather"] = gather;
  table["Pad"] = pad;
  table["Resize"] = resize;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["Cast"] = cast;
}

}  // namespace assay::transform
