#include "assay/dataset.h"

#include <algorithm>
#include <span>

#include "base/fail.h"
#include "base/free_memory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "data/labelled.h"
#include "data/shuffle.h"

namespace assay {

using namespace assay::data;

namespace {

// The positions `rows` of the first axis, in that order.
Tensor gathered(const Tensor& tensor, std::span<const std::int64_t> rows) {
  const auto bytes = tensor.bytes();
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(tensor.dims()[0]);
  check_memory_for(static_cast<std::int64_t>(rows.size() * row_bytes), [] { return "a subset"; });
  std::vector<std::byte> copy(rows.size() * row_bytes);
  auto to = copy.begin();
  for (const std::int64_t row : rows) {
    to = std::ranges::copy(bytes.subspan(static_cast<std::size_t>(row) * row_bytes, row_bytes), to)
             .out;
  }
  auto dims = tensor.dims();
  dims[0] = static_cast<std::int64_t>(rows.size());
  return Tensor(tensor.type(), std::move(dims), heap_storage(std::move(copy)));
}

Dataset picked(const Dataset& dataset, std::span<const std::int64_t> rows, std::uint64_t seed) {
  Dataset part = dataset;
  part.samples = gathered(dataset.samples, rows);
  part.labels = gathered(dataset.labels, rows);
  part.source = fmt::format("{}; {} of {} samples, seed {}", dataset.source, rows.size(),
                            dataset.size(), seed);
  return part;
}

void check_count(const Dataset& dataset, std::int64_t count, std::int64_t most, const char* what) {
  if (count >= 1 && count <= most) return;
  fail_bad_input("data set '{}' has {} samples: {} of {} is not possible, 1 to {} are",
                 dataset.name, dataset.size(), what, count, most);
}

// What a fingerprint holds of a tensor besides its bytes.
std::string described(const Tensor& tensor) {
  return fmt::format("{} {}\n", name(tensor.type()), join_dims(tensor.dims()));
}

}  // namespace

std::int64_t Dataset::size() const {
  return samples.dims().empty() ? 0 : samples.dims()[0];
}

std::vector<std::int64_t> Dataset::sample_dims() const {
  if (samples.dims().empty()) return {};
  return {samples.dims().begin() + 1, samples.dims().end()};
}

Dataset make_dataset(std::string name, Tensor samples, Tensor labels, std::int64_t classes) {
  const Labelled found = {.samples = std::move(samples),
                          .samples_at = fmt::format("data set '{}', samples", name),
                          .labels = std::move(labels),
                          .labels_at = fmt::format("data set '{}', labels", name)};
  return checked_dataset(std::move(name), "tensors in memory", found, classes);
}

Dataset subset(const Dataset& dataset, std::int64_t count, std::uint64_t seed) {
  check_count(dataset, count, dataset.size(), "a subset");
  const auto order = shuffled(dataset.size(), RandomNumbers(seed, "subset"));
  return picked(dataset, std::span(order).first(static_cast<std::size_t>(count)), seed);
}

std::pair<Dataset, Dataset> split_off(const Dataset& dataset, std::int64_t count,
                                      std::uint64_t seed) {
  check_count(dataset, count, dataset.size() - 1, "splitting off a part");
  const auto order = shuffled(dataset.size(), RandomNumbers(seed, "split"));
  const auto part = static_cast<std::size_t>(count);
  return {picked(dataset, std::span(order).first(part), seed),
          picked(dataset, std::span(order).subspan(part), seed)};
}

std::string fingerprint(const Dataset& dataset) {
  const std::string samples = described(dataset.samples);
  const std::string labels = described(dataset.labels);
  return sha256_of({std::as_bytes(std::span(samples)), dataset.samples.bytes(),
                    std::as_bytes(std::span(labels)), dataset.labels.bytes()});
}

}  // namespace assay
