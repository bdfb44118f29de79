// Resampling of images: Resize, Upsample, GridSample, AffineGrid, ImageDecoder.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

constexpr double kLargestSize = 9e18;

// floor(in · scale), in float as every engine does it: 3 · 2.3333333f is 7.
Dim scaled(const InferContext& context, const Dim& dim, double scale) {
  if (!(scale > 0) || scale > kLargestSize) context.fail("scale {} is not positive", scale);
  if (!dim.is_known()) return scale == 1 ? dim : Dim();
  const float size = std::floor(static_cast<float>(dim.value()) * static_cast<float>(scale));
  if (!(size < static_cast<float>(kLargestSize)))
    context.fail("{} times {} is too large", dim.value(), scale);
  if (scale == 1) return dim;
  return Dim(static_cast<std::int64_t>(size));
}

std::vector<std::size_t> resized_axes(const InferContext& context, std::size_t rank) {
  Dims all(rank);
  std::iota(all.begin(), all.end(), 0);
  const Dims axes = context.node().ints_or("axes", all);
  context.axes(axes, rank);
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) result.push_back(context.axis(axis, rank));
  return result;
}

void check_count(const InferContext& context, const char* what, std::size_t given,
                 std::size_t needed) {
  if (given != needed) context.fail("{} has {} numbers, needs {}", what, given, needed);
}

Shape by_scales(const InferContext& context, const Shape& input,
                const std::vector<double>& scales) {
  const auto axes = resized_axes(context, input.rank());
  check_count(context, "scales", scales.size(), axes.size());
  Shape result = input;
  for (std::size_t i = 0; i < axes.size(); ++i)
    result[axes[i]] = scaled(context, input[axes[i]], scales[i]);
  return result;
}

// One scale for all axes: the smallest that is needed, or the largest.
Shape with_aspect_kept(const InferContext& context, const Shape& input, const Dims& sizes,
                       const std::vector<std::size_t>& axes, bool not_larger) {
  std::optional<double> scale;
  Shape result = input;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& dim = input[axes[i]];
    if (!dim.is_known() || dim.value() == 0) return unknown_shape(input.rank());
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(dim.value());
    scale = !scale ? own : not_larger ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (const std::size_t axis : axes) {
    const double size = std::floor(*scale * static_cast<double>(input[axis].value()) + 0.5);
    if (size >= kLargestSize) context.fail("a resized axis is too large");
    result[axis] = Dim(static_cast<std::int64_t>(size));
  }
  return result;
}

Shape by_sizes(const InferContext& context, const Shape& input, const Dims& sizes) {
  const auto axes = resized_axes(context, input.rank());
  check_count(context, "sizes", sizes.size(), axes.size());
  for (const std::int64_t size : sizes) {
    if (size < 0) context.fail("sizes hold {}", size);
  }
  const std::string policy = context.node().string_or("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch")
    return with_aspect_kept(context, input, sizes, axes, policy == "not_larger");
  Shape result = input;
  for (std::size_t i = 0; i < axes.size(); ++i) result[axes[i]] = Dim(sizes[i]);
  return result;
}

// Exporters write an empty tensor for an omitted input.
bool is_used(const InferContext& context, std::size_t input) {
  if (!context.has(input)) return false;
  const Shape* shape = context.shape(input);
  return shape == nullptr || shape->elements() != 0;
}

}  // namespace

Shape resized_shape(const InferContext& context, const Shape& input) {
  const std::size_t scales_at = context.opset() < 11 && context.node().is("Resize") ? 1 : 2;
  if (scales_at == 2 && is_used(context, 3)) {
    const auto sizes = context.ints(3);
    return sizes ? by_sizes(context, input, *sizes) : unknown_shape(input.rank());
  }
  if (!is_used(context, scales_at)) context.fail("has neither scales nor sizes");
  const auto scales = context.numbers(scales_at);
  return scales ? by_scales(context, input, *scales) : unknown_shape(input.rank());
}

namespace {

void resize(InferContext& context) {
  const Shape* input = context.shape(0);
  context.set(0, context.element(0),
              input != nullptr ? std::optional(resized_shape(context, *input)) : std::nullopt);
}

void upsample(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto* attribute = context.node().get<std::vector<float>>("scales");
  if (attribute == nullptr && !context.has(1)) context.fail("has no scales");
  if (input == nullptr) return context.set(0, context.element(0));
  std::optional<std::vector<double>> scales = context.numbers(1);
  if (attribute != nullptr) scales.emplace(attribute->begin(), attribute->end());
  context.set(0, context.element(0),
              scales ? by_scales(context, *input, *scales) : unknown_shape(input->rank()));
}

void grid_sample(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 3);
  const Shape* grid = context.shape_of_rank_at_least(1, 3);
  if (input == nullptr && grid == nullptr) return context.set(0, context.element(0));
  if (input != nullptr && grid != nullptr && input->rank() != grid->rank()) {
    context.fail("input has rank {}, grid {}", input->rank(), grid->rank());
  }
  Shape result = unknown_shape(input != nullptr ? input->rank() : grid->rank());
  if (input != nullptr) result[0] = (*input)[0];
  if (input != nullptr) result[1] = (*input)[1];
  for (std::size_t i = 2; grid != nullptr && i < result.rank(); ++i) result[i] = (*grid)[i - 1];
  context.set(0, context.element(0), result);
}

// The size (N, C, D?, H, W) gives a grid (N, D?, H, W, 2 or 3).
void affine_grid(InferContext& context) {
  const auto size = context.ints(1);
  if (!size) return context.set(0, context.element(0));
  if (size->size() != 4 && size->size() != 5)
    context.fail("size has {} numbers, needs 4 or 5", size->size());
  Shape result;
  for (std::size_t i = 0; i < size->size(); ++i) {
    if ((*size)[i] < 0) context.fail("size holds {}", (*size)[i]);
    if (i != 1) result.push_back(Dim((*size)[i]));
  }
  result.push_back(Dim(static_cast<std::int64_t>(size->size()) - 2));
  context.set(0, context.element(0), result);
}

void image_decoder(InferContext& context) {
  const bool is_grey = context.node().string_or("pixel_format", "RGB") == "Grayscale";
  context.leave_open("the size of an image is known once it is decoded");
  context.set(0, DataType::UInt8, Shape{Dim(), Dim(), Dim(is_grey ? 1 : 3)});
}

}  // namespace

void add_image_rules(RuleTable& table) {
  table["Resize"] = resize;
  table["Upsample"] = upsample;
  table["GridSample"] = grid_sample;
  table["AffineGrid"] = affine_grid;
  table["ImageDecoder"] = image_decoder;
}

}  // namespace assay::infer
