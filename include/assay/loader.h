// Batches of a data set, in an order that depends only on the seed and the epoch: resuming at a
// later epoch gives the same batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/dataset.h"
#include "assay/tensor.h"

namespace assay {

struct LoaderOptions {
  std::int64_t batch_size = 64;
  std::uint64_t seed = 0;
  bool shuffle = true;     // else every epoch has the order of the data set
  bool drop_last = false;  // leaves out a last batch that is not full
  std::optional<Normalisation> normalisation = {};  // instead of the data set's
};

struct Batch {
  Tensor samples;  // float32 [b, ...], normalised
  Tensor labels;   // int64 [b]
};

class Loader {
 public:
  // Begins with epoch 0.
  Loader(Dataset dataset, const LoaderOptions& options);

  const Dataset& dataset() const { return dataset_; }
  std::int64_t batches() const;  // in an epoch
  void start_epoch(std::int64_t epoch);
  Batch batch(std::int64_t i) const;  // of the epoch last started

 private:
  void normalise(std::span<const std::byte> stored, std::span<float> numbers) const;

  Dataset dataset_;
  LoaderOptions options_;
  Normalisation normalisation_;
  std::vector<std::int64_t> labels_;
  std::vector<std::int64_t> order_;
  std::array<float, 256> number_of_byte_ = {};
};

}  // namespace assay
