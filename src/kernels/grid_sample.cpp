// GridSample: every output pixel is sampled at the position that a grid gives, between pixels or
// outside of the image. AffineGrid creates such grids.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"
#include "kernels/resize_taps.h"

namespace assay::kernels {

namespace {

enum class Padding { Zeros, Border, Reflection };

struct SampleRule {
  Interpolation interpolation = Interpolation::Linear;
  Padding padding = Padding::Zeros;
  bool aligns_corners = false;
};

SampleRule sample_rule(const KernelCall& call) {
  SampleRule rule;
  const std::string mode = call.node.string_or("mode", "linear");
  if (mode == "nearest")
    rule.interpolation = Interpolation::Nearest;
  else if (mode == "cubic" || mode == "bicubic")
    rule.interpolation = Interpolation::Cubic;
  else if (mode != "linear" && mode != "bilinear")
    call.fail("mode '{}' is not known", mode);
  const std::string padding = call.node.string_or("padding_mode", "zeros");
  if (padding == "border")
    rule.padding = Padding::Border;
  else if (padding == "reflection")
    rule.padding = Padding::Reflection;
  else if (padding != "zeros")
    call.fail("padding_mode '{}' is not known", padding);
  rule.aligns_corners = call.node.int_or("align_corners", 0) != 0;
  return rule;
}

// Reflects x into low … high.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = std::fabs(x - low);
  const double rest = std::fmod(distance, range);
  const bool is_reflected = std::fmod(std::floor(distance / range), 2.0) != 0;
  return is_reflected ? high - rest : low + rest;
}

// One axis of the image: from the grid's -1 … 1 to taps on its pixels.
struct SampleAxis {
  SampleRule rule = {};
  std::int64_t size = 1;

  double low() const { return rule.aligns_corners ? 0 : -0.5; }
  double high() const {
    return rule.aligns_corners ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5;
  }

  Taps taps(double normalized) const {
    double x = low() + (normalized + 1) / 2 * (high() - low());
    if (!std::isfinite(x)) return {};
    if (rule.interpolation == Interpolation::Nearest) x = std::nearbyint(x);
    if (x < low() || x > high()) x = moved_inside(x);
    // Beyond this, no tap can fall on a pixel.
    if (std::fabs(x) > static_cast<double>(size) + 4) return {};
    if (rule.interpolation == Interpolation::Nearest) return padded({{std::llrint(x), 1}});
    return padded(neighbours(x));
  }

 private:
  double moved_inside(double x) const {
    if (rule.padding == Padding::Border) return std::clamp(x, 0.0, static_cast<double>(size - 1));
    return rule.padding == Padding::Reflection ? reflected(x, low(), high()) : x;
  }

  Taps neighbours(double x) const {
    constexpr double kCoefficient = -0.75;
    const auto base = static_cast<std::int64_t>(std::floor(x));
    const double share = x - std::floor(x);
    if (rule.interpolation == Interpolation::Linear) return {{base, 1 - share}, {base + 1, share}};
    Taps taps;
    for (std::int64_t i = -1; i <= 2; ++i)
      taps.push_back({base + i, cubic_weight(static_cast<double>(i) - share, kCoefficient)});
    return taps;
  }

  // Taps outside of the image are dropped, or brought to the border or their mirror image.
  Taps padded(const Taps& taps) const {
    Taps kept;
    for (Tap tap : taps) {
      const bool is_inside = tap.index >= 0 && tap.index < size;
      if (!is_inside && rule.padding == Padding::Zeros) continue;
      if (!is_inside) {
        const auto place = static_cast<double>(tap.index);
        const double moved =
            rule.padding == Padding::Border ? place : reflected(place, low(), high());
        tap.index = std::clamp<std::int64_t>(std::llrint(moved), 0, size - 1);
      }
      kept.push_back(tap);
    }
    return kept;
  }
};

// The sum over all combinations of one tap per axis, in one channel of the image.
double sampled(std::span<const Taps> taps, std::span<const std::int64_t> strides,
               const double* image) {
  if (taps.empty()) return *image;
  double sum = 0;
  for (const Tap& tap : taps[0])
    sum +=
        tap.weight * sampled(taps.subspan(1), strides.subspan(1), image + tap.index * strides[0]);
  return sum;
}

void check_grid(const KernelCall& call, const Dims& image, const Dims& grid) {
  const bool fits = image.size() >= 3 && image.size() <= 5 && grid.size() == image.size() &&
                    grid[0] == image[0] &&
                    grid.back() == static_cast<std::int64_t>(image.size()) - 2;
  if (!fits)
    call.fail("an image of {} and a grid of {} do not fit", join_dims(image), join_dims(grid));
}

// The taps of one point on every axis; its last number belongs to the first spatial axis.
std::vector<Taps> taps_at(const SampleRule& rule, const Dims& image, const double* point) {
  const std::size_t rank = image.size() - 2;
  std::vector<Taps> taps;
  for (std::size_t axis = 0; axis < rank; ++axis)
    taps.push_back(SampleAxis{rule, image[2 + axis]}.taps(point[rank - 1 - axis]));
  return taps;
}

std::vector<Tensor> grid_sample(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims& image = input.dims();
  const Dims& grid = call.input(1).dims();
  check_grid(call, image, grid);
  const SampleRule rule = sample_rule(call);
  const auto pixels = load_real(call, input);
  const auto points = load_real(call, call.input(1));
  Dims dims = {image[0], image[1]};
  dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
  std::vector<double> results(result_elements(call, dims));
  if (!results.empty() && pixels.empty()) call.fail("the image is empty");
  const Dims strides = row_major_strides(image);
  const std::int64_t places = results.empty() ? 0 : points.size() / grid.back() / image[0];
  for (std::int64_t i = 0; i < places * image[0]; ++i) {
    const auto taps = taps_at(rule, image, &points[i * grid.back()]);
    const std::int64_t n = i / places;
    for (std::int64_t c = 0; c < image[1]; ++c) {
      results[(n * image[1] + c) * places + i % places] =
          sampled(taps, std::span(strides).subspan(2), &pixels[n * strides[0] + c * strides[1]]);
    }
  }
  return {store_real(input.type(), dims, results)};
}

// The positions of `size` pixels on an axis that runs from -1 to 1.
std::vector<double> axis_positions(std::int64_t size, bool aligns_corners) {
  std::vector<double> positions;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<double>(i);
    const auto count = static_cast<double>(size);
    if (aligns_corners)
      positions.push_back(size == 1 ? 0 : 2 * at / (count - 1) - 1);
    else
      positions.push_back((2 * at + 1) / count - 1);
  }
  return positions;
}

// One row of theta times the point (x, y, z?, 1); the point is given as (depth?, height, width).
double transformed(const double* row, std::span<const double> point) {
  double sum = row[point.size()];
  for (std::size_t i = 0; i < point.size(); ++i) sum += row[i] * point[point.size() - 1 - i];
  return sum;
}

// The size (N, C, depth?, height, width), checked against theta (N, 2, 3) or (N, 3, 4).
Dims affine_size(const KernelCall& call, const Tensor& theta) {
  Dims size = call.input(1).to_int64();
  if (size.size() != 4 && size.size() != 5)
    call.fail("size has {} numbers, not 4 or 5", size.size());
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  if (theta.dims() != Dims{size[0], axes, axes + 1})
    call.fail("theta of {} does not fit {}", join_dims(theta.dims()), join_dims(size));
  return size;
}

std::vector<Tensor> affine_grid(const KernelCall& call) {
  const Tensor& theta = call.input(0);
  const Dims size = affine_size(call, theta);
  const std::size_t rank = size.size() - 2;
  Dims places = {size[0]};
  places.insert(places.end(), size.begin() + 2, size.end());
  Dims dims = places;
  dims.push_back(static_cast<std::int64_t>(rank));
  std::vector<double> results(result_elements(call, dims));
  std::vector<std::vector<double>> positions;
  const bool aligns_corners = call.node.int_or("align_corners", 0) != 0;
  for (std::size_t axis = 0; axis < rank && !results.empty(); ++axis)
    positions.push_back(axis_positions(size[2 + axis], aligns_corners));
  const auto factors = load_real(call, theta);
  std::vector<double> point(rank);
  for_each_index(places, [&](std::span<const std::int64_t> index, std::size_t place) {
    for (std::size_t axis = 0; axis < rank; ++axis) point[axis] = positions[axis][index[1 + axis]];
    for (std::size_t row = 0; row < rank; ++row)
      results[place * rank + row] =
          transformed(&factors[(index[0] * rank + row) * (rank + 1)], point);
  });
  return {store_real(theta.type(), dims, results)};
}

}  // namespace

void add_grid_kernels(KernelTable& table) {
  table["GridSample"] = grid_sample;
  table["AffineGrid"] = affine_grid;
}

}  // namespace assay::kernels
