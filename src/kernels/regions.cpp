// RoiAlign and MaxRoiPool: a fixed number of bins for regions of any size.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/indices.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Far more samples along a bin than make sense; a region may ask for any number.
constexpr double kMostSamples = 4096;

struct Region {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
};

struct BinSizes {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

// The planes of a batch of images (N, C, H, W).
struct Images {
  Dims dims = {};
  std::vector<double> pixels = {};

  std::int64_t height() const { return dims[2]; }
  std::int64_t width() const { return dims[3]; }
  const double* plane(std::int64_t n, std::int64_t c) const {
    return pixels.data() + (n * dims[1] + c) * height() * width();
  }
};

Images images_of(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.dims().size() != 4) call.fail("needs four axes, got {}", join_dims(input.dims()));
  if (input.elements() == 0) call.fail("the images {} are empty", join_dims(input.dims()));
  return {input.dims(), load_real(call, input)};
}

// One row of `columns` numbers for each region.
std::vector<double> regions_of(const KernelCall& call, std::int64_t columns) {
  const Tensor& regions = call.input(1);
  if (regions.dims().size() != 2 || regions.dims()[1] != columns)
    call.fail("regions need {} columns, got {}", columns, join_dims(regions.dims()));
  return load_real(call, regions);
}

double spatial_scale(const KernelCall& call) {
  return static_cast<double>(call.node.float_or("spatial_scale", 1));
}

// A position between pixels, as the four pixels around it and their weights.
struct Blend {
  std::int64_t places[4] = {};
  double weights[4] = {};
};

// Nothing outside of the image counts, except for one pixel around it.
Blend blend_at(const Images& images, double y, double x) {
  Blend blend;
  const auto height = static_cast<double>(images.height());
  const auto width = static_cast<double>(images.width());
  const bool is_near = y >= -1 && y <= height && x >= -1 && x <= width;
  if (!is_near) return blend;
  y = std::clamp(y, 0.0, height - 1);
  x = std::clamp(x, 0.0, width - 1);
  const auto top = static_cast<std::int64_t>(y);
  const auto left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, images.height() - 1);
  const std::int64_t right = std::min(left + 1, images.width() - 1);
  const double down = y - static_cast<double>(top);
  const double across = x - static_cast<double>(left);
  return {{top * images.width() + left, top * images.width() + right,
           bottom * images.width() + left, bottom * images.width() + right},
          {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across}};
}

struct AlignRule {
  BinSizes bins = {};
  std::int64_t sampling_ratio = 0;
  double scale = 1;
  bool is_half_pixel = true;
  bool takes_greatest = false;
};

AlignRule align_rule(const KernelCall& call) {
  const Node& node = call.node;
  AlignRule rule;
  rule.bins = {node.int_or("output_height", 1), node.int_or("output_width", 1)};
  rule.sampling_ratio = node.int_or("sampling_ratio", 0);
  rule.scale = spatial_scale(call);
  const std::string shift = node.string_or("coordinate_transformation_mode",
                                           call.opset < 16 ? "output_half_pixel" : "half_pixel");
  const std::string mode = node.string_or("mode", "avg");
  if (shift != "half_pixel" && shift != "output_half_pixel")
    call.fail("coordinate_transformation_mode '{}' is not known", shift);
  if (mode != "avg" && mode != "max") call.fail("mode '{}' is not known", mode);
  if (rule.bins.height < 0 || rule.bins.width < 0 || rule.sampling_ratio < 0)
    call.fail("output_height, output_width or sampling_ratio is negative");
  rule.is_half_pixel = shift == "half_pixel";
  rule.takes_greatest = mode == "max";
  return rule;
}

// Scaled to the image; without the half-pixel offset, a region is at least one pixel large.
Region scaled_region(const AlignRule& rule, const double* row) {
  const double offset = rule.is_half_pixel ? 0.5 : 0;
  Region region = {row[0] * rule.scale - offset, row[1] * rule.scale - offset,
                   row[2] * rule.scale - offset, row[3] * rule.scale - offset};
  if (rule.is_half_pixel) return region;
  region.x2 = std::max(region.x2, region.x1 + 1);
  region.y2 = std::max(region.y2, region.y1 + 1);
  return region;
}

std::int64_t sample_count(const KernelCall& call, const AlignRule& rule, double bin_size) {
  const double count =
      rule.sampling_ratio > 0 ? static_cast<double>(rule.sampling_ratio) : std::ceil(bin_size);
  if (!(count <= kMostSamples)) call.fail("a bin would need {} samples", count);
  return static_cast<std::int64_t>(std::max(count, 0.0));
}

// The positions that the samples of one bin interpolate.
std::vector<Blend> blends_of(const KernelCall& call, const AlignRule& rule, const Images& images,
                             const Region& region, std::int64_t row, std::int64_t column) {
  const double height = (region.y2 - region.y1) / static_cast<double>(rule.bins.height);
  const double width = (region.x2 - region.x1) / static_cast<double>(rule.bins.width);
  const std::int64_t rows = sample_count(call, rule, height);
  const std::int64_t columns = sample_count(call, rule, width);
  std::vector<Blend> blends;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(rows);
    const double y = region.y1 + (static_cast<double>(row) + share) * height;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double part = (static_cast<double>(j) + 0.5) / static_cast<double>(columns);
      const double x = region.x1 + (static_cast<double>(column) + part) * width;
      blends.push_back(blend_at(images, y, x));
    }
  }
  return blends;
}

double averaged(const std::vector<Blend>& blends, const double* plane) {
  double sum = 0;
  for (const Blend& blend : blends) {
    for (int i = 0; i < 4; ++i) sum += blend.weights[i] * plane[blend.places[i]];
  }
  return sum / std::max(1.0, static_cast<double>(blends.size()));
}

// The maximum of the weighted pixels, not of their sums, as in the specification's example.
double greatest(const std::vector<Blend>& blends, const double* plane) {
  if (blends.empty()) return 0;
  double most = -std::numeric_limits<double>::infinity();
  for (const Blend& blend : blends) {
    for (int i = 0; i < 4; ++i) most = std::max(most, blend.weights[i] * plane[blend.places[i]]);
  }
  return most;
}

std::vector<Tensor> region_align(const KernelCall& call) {
  const Images images = images_of(call);
  const AlignRule rule = align_rule(call);
  const auto rows = regions_of(call, 4);
  const auto batch = call.input(2).to_int64();
  if (batch.size() * 4 != rows.size()) call.fail("there are {} batch indices", batch.size());
  const Dims dims = {call.input(1).dims()[0], images.dims[1], rule.bins.height, rule.bins.width};
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t bins = result_elements(call, {rule.bins.height, rule.bins.width});
  for (std::size_t r = 0; r < batch.size(); ++r) {
    const Region region = scaled_region(rule, &rows[4 * r]);
    const std::int64_t n = checked_index(call, batch[r], images.dims[0]);
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const auto blends =
          blends_of(call, rule, images, region, bin / rule.bins.width, bin % rule.bins.width);
      for (std::int64_t c = 0; c < images.dims[1]; ++c) {
        const double* plane = images.plane(n, c);
        results[(r * images.dims[1] + c) * bins + bin] =
            rule.takes_greatest ? greatest(blends, plane) : averaged(blends, plane);
      }
    }
  }
  return {store_real(call.input(0).type(), dims, results)};
}

// The pixels first … last - 1 that bin `bin` of `bins` covers, of a region along one axis.
struct PixelRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

PixelRange pixels_of_bin(double start, double end, std::int64_t bin, std::int64_t bins,
                         std::int64_t size) {
  const double first = std::round(start);
  const double length = std::max(std::round(end) - first + 1, 1.0);
  const double step = length / static_cast<double>(bins);
  const auto limit = static_cast<double>(size);
  const double low = std::floor(static_cast<double>(bin) * step) + first;
  const double high = std::ceil(static_cast<double>(bin + 1) * step) + first;
  if (std::isnan(low) || std::isnan(high)) return {};
  return {static_cast<std::int64_t>(std::clamp(low, 0.0, limit)),
          static_cast<std::int64_t>(std::clamp(high, 0.0, limit))};
}

double greatest_in(const Images& images, const double* plane, PixelRange rows, PixelRange columns) {
  if (rows.first >= rows.last || columns.first >= columns.last) return 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::int64_t y = rows.first; y < rows.last; ++y) {
    for (std::int64_t x = columns.first; x < columns.last; ++x)
      most = std::max(most, plane[y * images.width() + x]);
  }
  return most;
}

// A region is its image's number, then two corners.
std::vector<Tensor> region_max_pool(const KernelCall& call) {
  const Images images = images_of(call);
  const Dims shape = call.node.ints_or("pooled_shape", {});
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    call.fail("pooled_shape {} is not two positive numbers", join_dims(shape));
  const auto rows = regions_of(call, 5);
  const double scale = spatial_scale(call);
  const Dims dims = {call.input(1).dims()[0], images.dims[1], shape[0], shape[1]};
  std::vector<double> results(result_elements(call, dims));
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const double* region = &rows[5 * index[0]];
    const bool is_whole = region[0] >= 0 && region[0] < static_cast<double>(images.dims[0]);
    if (!is_whole) call.fail("a region of image {}, there are {}", region[0], images.dims[0]);
    const auto n = static_cast<std::int64_t>(region[0]);
    results[i] = greatest_in(
        images, images.plane(n, index[1]),
        pixels_of_bin(region[2] * scale, region[4] * scale, index[2], shape[0], images.height()),
        pixels_of_bin(region[1] * scale, region[3] * scale, index[3], shape[1], images.width()));
  });
  return {store_real(call.input(0).type(), dims, results)};
}

}  // namespace

void add_region_kernels(KernelTable& table) {
  table["RoiAlign"] = region_align;
  table["MaxRoiPool"] = region_max_pool;
}

}  // namespace assay::kernels
