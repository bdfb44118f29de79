// Pooling over whole planes, and MaxUnpool, which puts maxima back where they came from.
#include <cmath>

#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/pooling.h"
#include "kernels/real.h"
#include "kernels/window_grid.h"

namespace assay::kernels {

namespace {

// `fold(lane)` gives the number for a plane.
template <typename Fold>
std::vector<Tensor> pooled_planes(const KernelCall& call, Fold fold) {
  const Tensor& input = call.input(0);
  if (input.dims().size() < 2) call.fail("needs batch and channels, got {}", input.dims().size());
  auto values = load_real(call, input);
  Dims dims = input.dims();
  std::fill(dims.begin() + 2, dims.end(), 1);
  if (values.empty() && result_elements(call, dims) != 0) call.fail("the planes are empty");
  std::vector<double> results;
  for_each_lane(values, lanes_from(input.dims(), 2),
                [&](Lane<double> lane) { results.push_back(fold(lane)); });
  return {store_real(input.type(), dims, results)};
}

double mean_of(Lane<double> lane) {
  double sum = 0;
  for (std::int64_t i = 0; i < lane.length; ++i) sum += lane[i];
  return sum / static_cast<double>(lane.length);
}

std::vector<Tensor> global_average(const KernelCall& call) {
  return pooled_planes(call, mean_of);
}

std::vector<Tensor> global_max(const KernelCall& call) {
  return pooled_planes(call, greatest_of);
}

std::vector<Tensor> global_lp(const KernelCall& call) {
  const double power = norm_power(call);
  return pooled_planes(call, [=](Lane<double> lane) {
    double sum = 0;
    for (std::int64_t i = 0; i < lane.length; ++i) sum += std::pow(std::fabs(lane[i]), power);
    return std::pow(sum, 1 / power);
  });
}

// What MaxPool with these settings would have read: windows are the op's input.
Dims unpooled_dims(const KernelCall& call, const Tensor& input) {
  const auto spatial = spatial_dims(call, input.dims());
  const auto grid = transposed_window_grid(call, spatial, kernel_shape(call, spatial.size()));
  return image_dims(input.dims()[0], input.dims()[1], grid.input_dims());
}

// Indices count in the smallest output that fits; a larger one that is asked for has them at the
// same row and column.
std::vector<std::size_t> unpooled_places(const KernelCall& call, const Dims& smallest,
                                         const Dims& dims) {
  const auto indices = call.input(1).to_int64();
  const std::int64_t count = result_elements(call, smallest);
  const Dims strides = row_major_strides(dims);
  std::vector<std::size_t> places;
  for (std::int64_t index : indices) {
    if (index < 0 || index >= count) call.fail("index {} is out of range", index);
    std::int64_t place = 0;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      const std::int64_t at = index % smallest[axis];
      if (at >= dims[axis]) call.fail("an index lies outside {}", join_dims(dims));
      place += at * strides[axis];
      index /= smallest[axis];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

std::vector<Tensor> max_unpool(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (call.input(1).dims() != input.dims()) call.fail("values and indices differ in shape");
  const Dims smallest = unpooled_dims(call, input);
  const Dims dims = call.has(2) ? call.input(2).to_int64() : smallest;
  if (dims.size() != smallest.size())
    call.fail("output_shape has {} numbers for rank {}", dims.size(), smallest.size());
  std::vector<double> results(result_elements(call, dims));
  const auto values = load_real(call, input);
  const auto places = unpooled_places(call, smallest, dims);
  for (std::size_t i = 0; i < values.size(); ++i) results[places[i]] = values[i];
  return {store_real(input.type(), dims, results)};
}

}  // namespace

void add_global_pooling_kernels(KernelTable& table) {
  table["GlobalAveragePool"] = global_average;
  table["GlobalMaxPool"] = global_max;
  table["GlobalLpPool"] = global_lp;
  table["MaxUnpool"] = max_unpool;
}

}  // namespace assay::kernels
