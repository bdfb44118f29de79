// Generated images. Every class has its own smooth pattern; a sample is that pattern
// with some of another class's mixed in, and noise. Only whole numbers are involved, so that the
// bytes are the same on every machine.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "base/random_numbers.h"
#include "base/text.h"
#include "data/find_dataset.h"

namespace assay::data {

namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kTrainSize = 6'000;
constexpr std::int64_t kTestSize = 1'000;
constexpr std::size_t kWidestBlur = 16;

struct Plan {
  std::vector<std::int64_t> dims = {};
  std::size_t in_one = 0;
  std::size_t classes = 0;
  std::size_t size = 0;
};

std::int64_t given_or(std::int64_t given, std::int64_t otherwise) {
  return given == 0 ? otherwise : given;
}

void check_fits(const Plan& plan, std::int64_t in_one) {
  const auto samples = checked_multiply(static_cast<std::int64_t>(plan.size), in_one);
  const auto patterns =
      checked_multiply(static_cast<std::int64_t>(plan.classes), saturating_multiply(in_one, 8));
  if (!samples || !patterns) {
    fail_bad_input("synthetic data: {} samples of {} in {} classes are more than can be counted",
                   plan.size, join_dims(plan.dims), plan.classes);
  }
  check_memory_for(saturating_add(*samples, *patterns), [] { return "a synthetic data set"; });
}

Plan plan_of(const DatasetOptions& options) {
  const auto in_one = checked_product(options.sample_dims);
  if (!in_one || *in_one == 0 || options.sample_dims.empty()) {
    fail_bad_input(
        "synthetic data: samples of [{}] are not possible, every dimension must be 1 or "
        "more",
        join_dims(options.sample_dims));
  }
  const std::int64_t usual = options.split == Split::Train ? kTrainSize : kTestSize;
  const std::int64_t size = given_or(options.size, usual);
  const std::int64_t classes = given_or(options.classes, kClasses);
  if (size < 1 || classes < 1) {
    fail_bad_input("synthetic data: {} samples of {} classes are not possible, 1 is the least",
                   size, classes);
  }
  Plan plan = {.dims = options.sample_dims,
               .in_one = static_cast<std::size_t>(*in_one),
               .classes = static_cast<std::size_t>(classes),
               .size = static_cast<std::size_t>(size)};
  check_fits(plan, *in_one);
  return plan;
}

// Replaces every value by the mean of those that follow it on its axis, with wrap-around.
void blur_line(std::span<std::int32_t> values, std::size_t stride, std::vector<std::int32_t>& line,
               std::size_t window) {
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = values[i * stride];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < window; ++i) sum += line[i];
  for (std::size_t i = 0; i < line.size(); ++i) {
    values[i * stride] = static_cast<std::int32_t>(sum / static_cast<std::int64_t>(window));
    sum += line[(i + window) % line.size()] - line[i];
  }
}

void blur_axis(std::span<std::int32_t> values, std::size_t length, std::size_t stride) {
  const std::size_t window = std::min(length / 4, kWidestBlur);
  if (window < 2) return;
  std::vector<std::int32_t> line(length);
  for (std::size_t block = 0; block < values.size(); block += length * stride) {
    for (std::size_t i = 0; i < stride; ++i) {
      blur_line(values.subspan(block + i, length * stride - i), stride, line, window);
    }
  }
}

void blur(std::span<std::int32_t> values, const std::vector<std::int64_t>& dims) {
  std::size_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const auto length = static_cast<std::size_t>(dims[axis]);
    blur_axis(values, length, stride);
    stride *= length;
  }
}

// To 0 … 255 over all classes together, so that even samples of one number differ.
void stretch(std::span<std::int32_t> values) {
  const auto [least, most] = std::ranges::minmax(values);
  const std::int64_t range = std::max(1, most - least);
  for (std::int32_t& value : values) {
    value = static_cast<std::int32_t>(std::int64_t{255} * (value - least) / range);
  }
}

// One after the other, a class each.
std::vector<std::int32_t> patterns_of(const Plan& plan, std::uint64_t seed) {
  RandomNumbers random(seed, "synthetic patterns");
  std::vector<std::int32_t> patterns(plan.classes * plan.in_one);
  for (std::int32_t& value : patterns) value = static_cast<std::int32_t>(random.bits() >> 48);
  blur(patterns, plan.dims);
  stretch(patterns);
  return patterns;
}

// Noise from -64 to 63, small values more often; a draw serves four numbers.
class Noise {
 public:
  explicit Noise(RandomNumbers& random) : random_(random) {}
  std::int32_t next() {
    if (left_ == 0) bits_ = random_.bits();
    left_ = (left_ + 3) % 4;
    const auto sum = static_cast<std::int32_t>((bits_ & 0xff) + (bits_ >> 8 & 0xff));
    bits_ >>= 16;
    return (sum - 256) / 4;
  }

 private:
  RandomNumbers& random_;
  std::uint64_t bits_ = 0;
  int left_ = 0;
};

// Most of it is `own`: 60 to 100 %.
void draw_sample(std::span<const std::int32_t> own, std::span<const std::int32_t> other,
                 RandomNumbers& random, std::span<std::byte> sample) {
  const auto share = static_cast<std::int32_t>(154 + random.below(103));  // of 256
  Noise noise(random);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::int32_t mixed = (share * own[i] + (256 - share) * other[i]) / 256;
    sample[i] = static_cast<std::byte>(std::clamp(mixed + noise.next(), 0, 255));
  }
}

}  // namespace

Dataset synthetic_dataset(const DatasetOptions& options) {
  const Plan plan = plan_of(options);
  const auto patterns = patterns_of(plan, options.seed);
  const auto pattern = [&](std::size_t label) {
    return std::span(patterns).subspan(label * plan.in_one, plan.in_one);
  };
  const std::string part = part_name(options.split);
  RandomNumbers random(options.seed, "synthetic " + part);
  std::vector<std::byte> samples(plan.size * plan.in_one);
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < plan.size; ++i) {
    const std::size_t label = i % plan.classes;
    const auto sample = std::span(samples).subspan(i * plan.in_one, plan.in_one);
    draw_sample(pattern(label), pattern(random.below(plan.classes)), random, sample);
    labels.push_back(static_cast<std::int64_t>(label));
  }
  auto dims = plan.dims;
  dims.insert(dims.begin(), static_cast<std::int64_t>(plan.size));
  return {.name = "synthetic",
          .source = fmt::format("generated, {} part, seed {}", part, options.seed),
          .samples = Tensor(DataType::UInt8, std::move(dims), heap_storage(std::move(samples))),
          .labels = Tensor::of_int64({static_cast<std::int64_t>(plan.size)}, labels),
          .classes = static_cast<std::int64_t>(plan.classes)};
}

}  // namespace assay::data
