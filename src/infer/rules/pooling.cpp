// Pooling over windows, whole planes and regions, and unpooling.
#include "infer/rules.h"
#include "infer/windows.h"

namespace assay::infer {

Shape pooled_shape(const InferContext& context, const Shape& input) {
  if (input.rank() < 3) context.fail("needs at least one spatial axis, got {}", input.to_string());
  const std::size_t axes = input.rank() - 2;
  const Windows windows = windows_of(context, kernel_attribute(context, axes));
  Shape output = input;
  for (std::size_t i = 0; i < axes; ++i)
    output[2 + i] = window_count(context, windows, i, input[2 + i]);
  return output;
}

namespace {

std::optional<Shape> pooled(const InferContext& context) {
  const Shape* input = context.shape(0);
  return input != nullptr ? std::optional(pooled_shape(context, *input)) : std::nullopt;
}

void pool(InferContext& context) {
  context.set(0, context.element(0), pooled(context));
}

void max_pool(InferContext& context) {
  const auto output = pooled(context);
  context.set(0, context.element(0), output);
  context.set(1, DataType::Int64, output);
}

void global_pool(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 2);
  if (input == nullptr) return context.set(0, context.element(0));
  Shape output = *input;
  for (std::size_t axis = 2; axis < output.rank(); ++axis) output[axis] = Dim(1);
  context.set(0, context.element(0), output);
}

// (in - 1) · stride + kernel - pads, unless the shape is given.
void max_unpool(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 3);
  if (input == nullptr) return context.set(0, context.element(0));
  if (const auto wanted = context.ints(2)) {
    if (wanted->size() != input->rank())
      context.fail("output_shape has {} numbers for rank {}", wanted->size(), input->rank());
    for (const std::int64_t dim : *wanted) {
      if (dim < 0) context.fail("output_shape holds {}", dim);
    }
    return context.set(0, context.element(0), Shape(*wanted));
  }
  if (context.has(2)) return context.set(0, context.element(0), unknown_shape(input->rank()));
  const std::size_t axes = input->rank() - 2;
  const Windows windows = windows_of(context, kernel_attribute(context, axes));
  Shape output = *input;
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim before = added(context, (*input)[2 + i], -1);
    const Dim spread = multiplied(context, before, Dim(windows.strides[i]));
    const Dim covered = added(context, spread, windows.kernel[i]);
    const Dim less = added(context, covered, -std::max<std::int64_t>(windows.pads[i], -INT64_MAX));
    output[2 + i] =
        added(context, less, -std::max<std::int64_t>(windows.pads[axes + i], -INT64_MAX));
  }
  context.set(0, context.element(0), output);
}

Shape regions(const InferContext& context, const Dim& count, std::int64_t height,
              std::int64_t width) {
  if (height < 0 || width < 0) context.fail("pooled size {}x{} is negative", height, width);
  const Shape* input = context.shape_of_rank(0, 4);
  return Shape{count, input != nullptr ? (*input)[1] : Dim(), Dim(height), Dim(width)};
}

void region_align(InferContext& context) {
  const Shape* boxes = context.shape_of_rank(1, 2);
  const Node& node = context.node();
  context.set(0, context.element(0),
              regions(context, boxes != nullptr ? (*boxes)[0] : Dim(),
                      node.int_or("output_height", 1), node.int_or("output_width", 1)));
}

void region_max_pool(InferContext& context) {
  const Shape* boxes = context.shape_of_rank(1, 2);
  const Dims size = context.counted_ints("pooled_shape", 2, 1, 1);
  context.set(0, context.element(0),
              regions(context, boxes != nullptr ? (*boxes)[0] : Dim(), size[0], size[1]));
}

}  // namespace

void add_pooling_rules(RuleTable& table) {
  table["MaxPool"] = max_pool;
  table["AveragePool"] = pool;
  table["LpPool"] = pool;
  table["GlobalAveragePool"] = global_pool;
  table["GlobalMaxPool"] = global_pool;
  table["GlobalLpPool"] = global_pool;
  table["MaxUnpool"] = max_unpool;
  table["RoiAlign"] = region_align;
  table["MaxRoiPool"] = region_max_pool;
}

}  // namespace assay::infer
