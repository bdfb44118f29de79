#include "execute/view_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/as_size.h"
#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "execute/threads.h"

namespace assay::execute {

namespace {

// Planes of rows of channels: a plane has all pixels of one block of channels. Tensors that lie row
// by row have blocks of one channel, or all channels in one block if these are the last axis.
struct Planes {
  const float* numbers = nullptr;
  std::int64_t count = 0;
  std::int64_t pixels = 0;
  std::int64_t block = 1;
  std::int64_t channels = 1;

  std::int64_t blocks() const { return (channels + block - 1) / block; }
  std::int64_t first_channel(std::int64_t plane) const { return plane % blocks() * block; }
  std::int64_t width(std::int64_t plane) const {
    return std::min(block, channels - first_channel(plane));
  }
  const float* row(std::int64_t plane, std::int64_t pixel) const {
    return numbers + (plane * pixels + pixel) * block;
  }
};

std::int64_t product(std::span<const std::int64_t> dims) {
  return checked_product(dims).value_or(0);
}

Planes planes_of(const OutputView& view, std::optional<std::size_t> channel_axis) {
  Planes planes{.numbers = reinterpret_cast<const float*>(view.bytes.data())};
  const std::span dims(view.dims);
  if (view.channel_block > 0) {
    planes.block = view.channel_block;
    planes.channels = dims[1];
    planes.pixels = product(dims.subspan(2));
    planes.count = dims[0] * planes.blocks();
  } else if (!channel_axis) {
    planes.count = 1;
    planes.pixels = product(dims);
  } else {
    planes.channels = dims[*channel_axis];
    planes.pixels = product(dims.subspan(*channel_axis + 1));
    planes.count = product(dims.first(*channel_axis + 1));
    if (planes.pixels == 1) {
      planes.block = planes.channels;
      planes.pixels = planes.count / planes.channels;
      planes.count = 1;
    }
  }
  return planes;
}

// What one thread has seen.
struct Part {
  float least = std::numeric_limits<float>::max();
  float greatest = std::numeric_limits<float>::lowest();
  std::vector<double> sums = {};

  void look_at(const float* numbers, std::int64_t count) {
    least = std::min(least, cpu::simd().reduce(cpu::ReduceOp::Min, numbers, as_size(count)));
    greatest = std::max(greatest, cpu::simd().reduce(cpu::ReduceOp::Max, numbers, as_size(count)));
  }

  // Few enough rows at a time that they stay in the nearest cache from one loop to the next.
  void look_at_rows(const Planes& planes, std::int64_t plane, std::int64_t first,
                    std::int64_t last) {
    constexpr std::int64_t kNumbersAtATime = 4096;
    const std::int64_t width = planes.width(plane);
    const std::int64_t most = std::max<std::int64_t>(kNumbersAtATime / planes.block, 1);
    for (; first < last; first += most) {
      const std::int64_t rows = std::min(most, last - first);
      const float* from = planes.row(plane, first);
      if (width == planes.block) {
        look_at(from, rows * width);
      } else {
        for (std::int64_t i = 0; i < rows; ++i) look_at(from + i * planes.block, width);
      }
      add_sums(planes, plane, from, rows);
    }
  }

  void add_sums(const Planes& planes, std::int64_t plane, const float* from, std::int64_t rows) {
    double* to = sums.data() + planes.first_channel(plane);
    if (planes.block == 1) {
      *to += static_cast<double>(cpu::simd().reduce(cpu::ReduceOp::Sum, from, as_size(rows)));
    } else {
      cpu::simd().column_sums({.count = as_size(rows),
                               .stride = as_size(planes.block),
                               .width = as_size(planes.width(plane))},
                              from, to);
    }
  }
};

std::vector<Part> parts_of(const Planes& planes, int threads) {
  std::vector<Part> parts(as_size(threads));
  for (Part& part : parts) part.sums.assign(as_size(planes.channels), 0);
  const std::int64_t all = planes.count * planes.pixels;
  for_each_in_parallel(threads, parts.size(), [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    std::int64_t begin = all * at / threads;
    const std::int64_t end = all * (at + 1) / threads;
    while (begin < end) {
      const std::int64_t plane = begin / planes.pixels;
      const std::int64_t until = std::min(end, (plane + 1) * planes.pixels);
      parts[i].look_at_rows(planes, plane, begin - plane * planes.pixels,
                            until - plane * planes.pixels);
      begin = until;
    }
  });
  return parts;
}

// Below this many numbers a second thread costs more than it brings.
constexpr std::int64_t kNumbersWorthSharing = 16 << 10;

int threads_for(const OutputView& view, int threads) {
  return product(view.dims) < kNumbersWorthSharing ? 1 : threads;
}

bool all_finite(const OutputView& view) {
  bool found = true;
  for_each_stretch_of(view, 1, [&](std::size_t, std::span<const float> numbers) {
    found = found && std::ranges::all_of(numbers, [](float one) { return std::isfinite(one); });
  });
  return found;
}

}  // namespace

ViewStatistics statistics_of(const OutputView& view, std::optional<std::size_t> channel_axis,
                             int threads) {
  const Planes planes = planes_of(view, channel_axis);
  ViewStatistics found{.least = std::numeric_limits<float>::max(),
                       .greatest = std::numeric_limits<float>::lowest()};
  found.sums.assign(as_size(planes.channels), 0);
  for (const Part& part : parts_of(planes, threads_for(view, threads))) {
    found.least = std::min(found.least, part.least);
    found.greatest = std::max(found.greatest, part.greatest);
    for (std::size_t i = 0; i < part.sums.size(); ++i) found.sums[i] += part.sums[i];
  }
  // A sum of finite numbers may still overflow.
  const bool is_sum_finite =
      std::ranges::all_of(found.sums, [](double sum) { return std::isfinite(sum); });
  found.is_finite = is_sum_finite || all_finite(view);
  return found;
}

void for_each_stretch_of(const OutputView& view, int threads,
                         FunctionRef<void(std::size_t, std::span<const float>)> take) {
  const Planes planes = planes_of(view, {});
  const int parts = threads_for(view, threads);
  const std::int64_t all = planes.count * planes.pixels;
  const bool is_whole = planes.channels % planes.block == 0;
  for_each_in_parallel(parts, as_size(parts), [&](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t begin = all * at / parts;
    const std::int64_t end = all * (at + 1) / parts;
    if (is_whole) {
      take(i, {planes.numbers + begin * planes.block, as_size((end - begin) * planes.block)});
      return;
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t plane = row / planes.pixels;
      take(i, {planes.numbers + row * planes.block, as_size(planes.width(plane))});
    }
  });
}

}  // namespace assay::execute
