#include "assay/loader.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "base/fail.h"
#include "base/text.h"
#include "data/shuffle.h"

namespace assay {

using namespace assay::data;

namespace {

// A Dataset built by hand may contain anything.
void check_dataset(const Dataset& dataset) {
  const auto type = dataset.samples.type();
  if (dataset.size() == 0 || dataset.samples.elements() == 0) {
    fail_bad_input("data set '{}' ({}) is empty, there are no batches to make", dataset.name,
                   dataset.source);
  }
  const bool are_samples = type == DataType::UInt8 || type == DataType::Float32;
  const bool are_labels =
      dataset.labels.type() == DataType::Int64 && dataset.labels.elements() == dataset.size();
  if (are_samples && are_labels) return;
  fail_bad_input(
      "data set '{}' has samples of {} [{}] and labels of {} [{}]; build it with "
      "make_dataset",
      dataset.name, name(type), join_dims(dataset.samples.dims()), name(dataset.labels.type()),
      join_dims(dataset.labels.dims()));
}

void check_options(const Dataset& dataset, const LoaderOptions& options) {
  if (options.batch_size < 1) {
    fail_bad_input("data set '{}': a batch of {} is not possible, 1 is the least", dataset.name,
                   options.batch_size);
  }
  if (options.drop_last && options.batch_size > dataset.size()) {
    fail_bad_input(
        "data set '{}': no batch of {} can be filled from {} samples, and those that are "
        "not full are left out; use a smaller batch",
        dataset.name, options.batch_size, dataset.size());
  }
}

void check_normalisation(const Dataset& dataset, const Normalisation& by) {
  const bool is_possible =
      std::isfinite(by.mean) && std::isfinite(by.deviation) && by.deviation > 0;
  if (is_possible) return;
  fail_bad_input(
      "data set '{}': normalising by mean {} and deviation {} is not possible, the "
      "deviation must be above 0",
      dataset.name, by.mean, by.deviation);
}

}  // namespace

Loader::Loader(Dataset dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      normalisation_(options.normalisation.value_or(dataset_.normalisation)) {
  check_dataset(dataset_);
  check_options(dataset_, options_);
  check_normalisation(dataset_, normalisation_);
  labels_ = dataset_.labels.to_vector<std::int64_t>();
  for (std::size_t byte = 0; byte < number_of_byte_.size(); ++byte) {
    const double number = static_cast<double>(byte) / 255;
    number_of_byte_[byte] =
        static_cast<float>((number - normalisation_.mean) / normalisation_.deviation);
  }
  start_epoch(0);
}

std::int64_t Loader::batches() const {
  const std::int64_t full = dataset_.size() / options_.batch_size;
  const bool has_rest = dataset_.size() % options_.batch_size != 0;
  return full + (has_rest && !options_.drop_last ? 1 : 0);
}

void Loader::start_epoch(std::int64_t epoch) {
  if (options_.shuffle) {
    order_ =
        shuffled(dataset_.size(), RandomNumbers(options_.seed, fmt::format("epoch {}", epoch)));
  } else {
    order_.resize(static_cast<std::size_t>(dataset_.size()));
    std::iota(order_.begin(), order_.end(), 0);
  }
}

Batch Loader::batch(std::int64_t i) const {
  if (i < 0 || i >= batches()) {
    fail_bad_input("data set '{}': there is no batch {} among {}", dataset_.name, i, batches());
  }
  const std::int64_t first = i * options_.batch_size;
  const std::int64_t count = std::min(options_.batch_size, dataset_.size() - first);
  const auto stored = dataset_.samples.bytes();
  const std::size_t sample_bytes = stored.size() / static_cast<std::size_t>(dataset_.size());
  const auto in_one = static_cast<std::size_t>(dataset_.samples.elements() / dataset_.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * in_one * sizeof(float));
  std::span rest(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
  std::vector<std::int64_t> labels;
  for (std::int64_t at = first; at < first + count; ++at) {
    const auto index = static_cast<std::size_t>(order_[static_cast<std::size_t>(at)]);
    normalise(stored.subspan(index * sample_bytes, sample_bytes), rest.first(in_one));
    rest = rest.subspan(in_one);
    labels.push_back(labels_[index]);
  }
  auto dims = dataset_.samples.dims();
  dims[0] = count;
  return {Tensor(DataType::Float32, std::move(dims), heap_storage(std::move(bytes))),
          Tensor::of_int64({count}, labels)};
}

void Loader::normalise(std::span<const std::byte> stored, std::span<float> numbers) const {
  if (dataset_.samples.type() == DataType::UInt8) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = number_of_byte_[std::to_integer<std::size_t>(stored[i])];
    }
    return;
  }
  std::memcpy(numbers.data(), stored.data(), stored.size());
  const double mean = normalisation_.mean;
  const double scale = 1 / normalisation_.deviation;
  for (float& number : numbers) number = static_cast<float>((number - mean) * scale);
}

}  // namespace assay
