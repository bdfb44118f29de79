#include "optimize/quantize/watch.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/view_statistics.h"

namespace assay::optimize {

namespace {

// Each part of the numbers has counts of its own until all are counted.
void add_to_histogram(Histogram& histogram, const OutputView& view, int threads) {
  std::vector<Histogram::Counts> parts(static_cast<std::size_t>(threads));
  execute::for_each_stretch_of(view, threads,
                               [&](std::size_t part, std::span<const float> numbers) {
                                 histogram.count(numbers, parts[part]);
                               });
  for (const Histogram::Counts& counts : parts) histogram.add(counts);
}

}  // namespace

void Watch::look_at(const OutputView& view, int threads) {
  const auto elements = static_cast<double>(checked_product(view.dims).value_or(0));
  if (elements == 0 || !is_finite) return;
  const bool has_channels = channel_axis && (view.channel_block == 0 || *channel_axis == 1);
  const auto axis = has_channels ? channel_axis : std::nullopt;
  const execute::ViewStatistics found = execute::statistics_of(view, axis, threads);
  is_finite = found.is_finite;
  if (!is_finite) return;
  const ValueRange now{found.least, found.greatest};
  seen.range.least = has_seen ? std::min(seen.range.least, now.least) : now.least;
  seen.range.greatest = has_seen ? std::max(seen.range.greatest, now.greatest) : now.greatest;
  has_seen = true;
  if (wants_histogram) {
    seen.histogram.widen_to(found.least, found.greatest);
    add_to_histogram(seen.histogram, view, threads);
  }
  if (!has_channels) return;
  sums.resize(found.sums.size(), 0);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += found.sums[i];
  summed += elements / static_cast<double>(sums.size());
}

void Watch::look_at(const Tensor& tensor, int threads) {
  const auto bytes = tensor.bytes();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
  const std::vector<float> copy = is_aligned ? std::vector<float>() : tensor.to_vector<float>();
  look_at({.dims = tensor.dims(), .bytes = is_aligned ? bytes : std::as_bytes(std::span(copy))},
          threads);
}

std::vector<double> Watch::means() const {
  std::vector<double> result = sums;
  for (double& sum : result) sum /= summed;
  return result;
}

}  // namespace assay::optimize
