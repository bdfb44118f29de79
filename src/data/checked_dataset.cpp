#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/fail.h"
#include "base/text.h"
#include "data/labelled.h"

namespace assay::data {

namespace {

// A network has one output per class, so a damaged label could need any amount of memory.
constexpr std::int64_t kMostClasses = 1'000'000;

void check_samples(const Tensor& samples, const std::string& at) {
  const auto& dims = samples.dims();
  const bool are_numbers =
      is_integer(samples.type()) || is_floating(samples.type()) || samples.type() == DataType::Bool;
  if (!are_numbers) {
    fail_bad_input("{}: samples of {} are not supported, only numbers", at, name(samples.type()));
  }
  if (dims.size() < 2) {
    fail_bad_input(
        "{}: shape [{}] is not that of samples, which have the axes of one after the "
        "axis that counts them",
        at, join_dims(dims));
  }
  if (dims[0] == 0)
    fail_bad_input("{}: the data set is empty, its shape is {}", at, join_dims(dims));
  if (samples.elements() == 0) {
    fail_bad_input("{}: its {} samples have no elements, the shape is {}", at, dims[0],
                   join_dims(dims));
  }
}

// The storage may be unaligned, and too large to copy only to look at it.
void check_finite(const Tensor& samples, const std::string& at) {
  const auto bytes = samples.bytes();
  const std::int64_t in_one = samples.elements() / samples.dims()[0];
  for (std::int64_t i = 0; i < samples.elements(); ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + static_cast<std::size_t>(i) * sizeof number, sizeof number);
    if (std::isfinite(number)) continue;
    fail_bad_input("{}: sample {} has {} as its element {}, which is no finite float32", at,
                   i / in_one, number, i % in_one);
  }
}

Tensor converted_to_float32(const Tensor& samples) {
  std::vector<float> numbers;
  for (const double number : samples.to_double()) numbers.push_back(static_cast<float>(number));
  return Tensor::of_float(samples.dims(), numbers);
}

// Bytes stay bytes, all else becomes float32.
Tensor usable_samples(const Tensor& samples, const std::string& at) {
  check_samples(samples, at);
  if (samples.type() != DataType::UInt8) {
    const bool is_float32 = samples.type() == DataType::Float32;
    Tensor numbers = is_float32 ? samples : converted_to_float32(samples);
    check_finite(numbers, at);
    return numbers;
  }
  auto dims = samples.dims();
  const bool lacks_channels = dims.size() == 3;
  if (lacks_channels) dims.insert(dims.begin() + 1, 1);
  return samples.reshaped(dims);
}

void check_label_shape(const Tensor& labels, const std::string& at) {
  if (!is_integer(labels.type())) {
    fail_bad_input("{}: labels of {} are not supported, save whole numbers", at,
                   name(labels.type()));
  }
  const auto& dims = labels.dims();
  const bool is_list = dims.size() == 1 || (dims.size() == 2 && dims[1] == 1);
  if (is_list) return;
  fail_bad_input(
      "{}: shape [{}] is not that of labels, one number per sample; for scores or one-hot "
      "rows save the argmax",
      at, join_dims(dims));
}

Tensor usable_labels(const Tensor& labels, const std::string& at) {
  check_label_shape(labels, at);
  const std::int64_t count = labels.dims()[0];
  if (labels.type() == DataType::Int64) return labels.reshaped({count});
  return Tensor::of_int64({count}, labels.to_int64());
}

// Every label from 0 on, and below `classes`.
void check_range(std::span<const std::int64_t> labels, std::int64_t classes,
                 const std::string& at) {
  const auto is_outside = [&](std::int64_t label) { return label < 0 || label >= classes; };
  const auto found = std::ranges::find_if(labels, is_outside);
  if (found == labels.end()) return;
  fail_bad_input("{}: label {} is {}, expected 0 to {}", at, found - labels.begin(), *found,
                 classes - 1);
}

std::int64_t checked_classes(const Tensor& labels, std::int64_t classes, const std::string& at) {
  if (classes < 0 || classes > kMostClasses) {
    fail_bad_input("{}: {} classes are not possible, only 1 to {}", at, classes, kMostClasses);
  }
  const auto numbers = labels.to_vector<std::int64_t>();
  check_range(numbers, classes > 0 ? classes : kMostClasses, at);
  return classes > 0 ? classes : std::ranges::max(numbers) + 1;
}

}  // namespace

Dataset checked_dataset(std::string name, std::string source, const Labelled& found,
                        std::int64_t classes) {
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.source = std::move(source);
  dataset.samples = usable_samples(found.samples, found.samples_at);
  dataset.labels = usable_labels(found.labels, found.labels_at);
  if (dataset.samples.dims()[0] != dataset.labels.elements()) {
    fail_bad_input("data set '{}': {} samples in {}, but {} labels in {}", dataset.name,
                   dataset.samples.dims()[0], found.samples_at, dataset.labels.elements(),
                   found.labels_at);
  }
  dataset.classes = checked_classes(dataset.labels, classes, found.labels_at);
  return dataset;
}

}  // namespace assay::data
