#include "execute/cpu/kernels/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/as_size.h"
#include "base/checked.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kLanes = 16;  // of a plane's pixels in a row

// Groups are shared out among threads; where there are too few of them, stretches of images too.
std::int64_t parts_of(const NormShape& shape, int threads) {
  return shape.groups >= threads ? 1 : std::min<std::int64_t>(threads, shape.images);
}

// A group's numbers, one for each lane of its rows: in a plane all lanes are one channel's.
class LaneNumbers {
 public:
  LaneNumbers(const NormShape& shape, const float* of_group) : numbers_(of_group) {
    if (shape.channels > 1) return;
    std::fill_n(copies_, kLanes, *of_group);
    numbers_ = copies_;
  }
  LaneNumbers(const LaneNumbers&) = delete;
  LaneNumbers& operator=(const LaneNumbers&) = delete;
  const float* get() const { return numbers_; }

 private:
  const float* numbers_;
  float copies_[kLanes];
};

// Calls `work(offset, rows)` for the rows of one group of one image.
template <typename Work>
void with_rows(const NormShape& shape, std::int64_t image, std::int64_t group, const Work& work) {
  const std::int64_t first = (image * shape.groups + group) * shape.channels * shape.pixels;
  const std::size_t pixels = as_size(shape.pixels);
  const std::size_t channels = as_size(shape.channels);
  if (channels > 1) return work(first, NormRows{pixels, channels, channels});
  if (pixels >= kLanes) work(first, NormRows{pixels / kLanes, kLanes, kLanes});
  const std::size_t rest = pixels % kLanes;
  if (rest > 0)
    work(first + shape.pixels - static_cast<std::int64_t>(rest), NormRows{1, rest, rest});
}

// Pairs of sums by part, group and channel.
class Sums {
 public:
  Sums(const NormShape& shape, int threads, double* workspace)
      : shape_(shape), threads_(threads), parts_(parts_of(shape, threads)), workspace_(workspace) {}

  // `add(offset, rows, group, first sums, second sums)`
  template <typename Add>
  void take(const Add& add) const {
    execute::for_each_in_parallel(threads_, as_size(parts_ * shape_.groups), [&](std::size_t item) {
      const auto part = static_cast<std::int64_t>(item) / shape_.groups;
      sum_up(part, static_cast<std::int64_t>(item) % shape_.groups, add);
    });
  }

  // Of all parts, in order.
  std::pair<double, double> of_channel(std::int64_t channel) const {
    std::pair<double, double> sums = {0, 0};
    for (std::int64_t part = 0; part < parts_; ++part) {
      const double* first = at(part, channel / shape_.channels) + channel % shape_.channels;
      sums.first += first[0];
      sums.second += first[shape_.channels];
    }
    return sums;
  }

 private:
  double* at(std::int64_t part, std::int64_t group) const {
    return workspace_ + (part * shape_.groups + group) * 2 * shape_.channels;
  }

  template <typename Add>
  void sum_up(std::int64_t part, std::int64_t group, const Add& add) const {
    double lanes[2 * kLanes] = {};
    double* first = shape_.channels > 1 ? at(part, group) : lanes;
    double* second = shape_.channels > 1 ? first + shape_.channels : lanes + kLanes;
    if (shape_.channels > 1) std::fill_n(first, 2 * shape_.channels, 0.0);
    const std::int64_t last = shape_.images * (part + 1) / parts_;
    for (std::int64_t image = shape_.images * part / parts_; image < last; ++image) {
      with_rows(shape_, image, group, [&](std::int64_t offset, const NormRows& rows) {
        add(offset, rows, group, first, second);
      });
    }
    if (shape_.channels > 1) return;
    at(part, group)[0] = std::accumulate(lanes, lanes + kLanes, 0.0);
    at(part, group)[1] = std::accumulate(lanes + kLanes, lanes + 2 * kLanes, 0.0);
  }

  const NormShape& shape_;
  int threads_;
  std::int64_t parts_;
  double* workspace_;
};

// The pixel that distances are taken from, so that squares stay small: the first of every channel.
const float* pivots_of(const NormShape& shape, const float* images, std::int64_t group) {
  return images + group * shape.channels * shape.pixels;
}

const SimdKernels& kernels_for(const NormShape& shape) {
  return shape.channels > 1 ? simd_for(as_size(shape.channels)) : simd();
}

// What is left of the gradients once their mean and their part along the images is taken away.
void find_vectors(const NormShape& shape, const NormBackward& backward, const Sums& sums) {
  const auto samples = static_cast<double>(shape.samples());
  std::fill(backward.even + backward.real_channels, backward.even + shape.all_channels(), 0.0f);
  std::fill(backward.along + backward.real_channels, backward.along + shape.all_channels(), 0.0f);
  for (std::int64_t channel = 0; channel < backward.real_channels; ++channel) {
    const auto [given, along] = sums.of_channel(channel);
    const double inverse = 1.0 / (static_cast<double>(backward.variance[channel]) +
                                  static_cast<double>(backward.epsilon));
    backward.even[channel] = static_cast<float>(given / samples);
    backward.along[channel] = static_cast<float>(along / samples * inverse);
    backward.by_shift[channel] = static_cast<float>(given);
    backward.by_scale[channel] = static_cast<float>(along * std::sqrt(inverse));
  }
}

// The vectors of one group.
class GroupGradient {
 public:
  GroupGradient(const NormShape& shape, const NormBackward& backward, std::int64_t group)
      : mean_(shape, backward.norm.mean + group * shape.channels),
        factor_(shape, backward.norm.factor + group * shape.channels),
        shift_(shape, backward.norm.shift + group * shape.channels),
        even_(shape, backward.even + group * shape.channels),
        along_(shape, backward.along + group * shape.channels),
        positive_only_(backward.positive_only) {}

  NormGradient get() const {
    return {{mean_.get(), factor_.get(), shift_.get()}, even_.get(), along_.get(), positive_only_};
  }

 private:
  LaneNumbers mean_, factor_, shift_, even_, along_;
  bool positive_only_;
};

}  // namespace

std::int64_t norm_workspace(const NormShape& shape, int threads) {
  return parts_of(shape, threads) * shape.all_channels() * 2;
}

void find_moments(const NormShape& shape, int threads, const float* images, double* workspace,
                  const BatchMoments& moments) {
  const Sums sums(shape, threads, workspace);
  const SimdKernels& kernels = kernels_for(shape);
  sums.take([&](std::int64_t offset, const NormRows& rows, std::int64_t group, double* first,
                double* second) {
    const LaneNumbers pivots(shape, pivots_of(shape, images, group));
    kernels.norm_sums(rows, pivots.get(), images + offset, first, second);
  });
  const auto samples = static_cast<double>(shape.samples());
  for (std::int64_t channel = 0; channel < shape.all_channels(); ++channel) {
    const auto [distances, squares] = sums.of_channel(channel);
    const std::int64_t group = channel / shape.channels;
    const float pivot = pivots_of(shape, images, group)[channel % shape.channels];
    const double distance = distances / samples;
    moments.mean[channel] = static_cast<float>(static_cast<double>(pivot) + distance);
    moments.variance[channel] =
        static_cast<float>(std::max(0.0, squares / samples - distance * distance));
  }
}

void norm_backward(const NormShape& shape, int threads, const NormBackward& backward,
                   double* workspace) {
  const Sums sums(shape, threads, workspace);
  const SimdKernels& kernels = kernels_for(shape);
  sums.take([&](std::int64_t offset, const NormRows& rows, std::int64_t group, double* first,
                double* second) {
    const GroupGradient vectors(shape, backward, group);
    kernels.norm_gradient_sums(rows, vectors.get(), backward.images + offset,
                               backward.gradients + offset, first, second);
  });
  find_vectors(shape, backward, sums);
  execute::for_each_in_parallel(
      threads, as_size(shape.images * shape.groups), [&](std::size_t item) {
        const auto image = static_cast<std::int64_t>(item) / shape.groups;
        const auto group = static_cast<std::int64_t>(item) % shape.groups;
        const GroupGradient vectors(shape, backward, group);
        with_rows(shape, image, group, [&](std::int64_t offset, const NormRows& rows) {
          kernels.norm_gradient(rows, vectors.get(), backward.images + offset,
                                backward.gradients + offset, backward.result + offset);
        });
      });
}

}  // namespace assay::cpu
