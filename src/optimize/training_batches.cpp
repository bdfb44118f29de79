#include "optimize/training_batches.h"

#include <algorithm>

#include "assay/loader.h"
#include "train/bound_model.h"

namespace assay::optimize {

std::vector<InputBatch> training_batches(const Graph& model, const Dataset& data,
                                         std::int64_t batch_size, std::uint64_t seed) {
  constexpr std::int64_t kBatches = 4;
  const std::int64_t size = std::min(batch_size, data.size());
  const Loader loader(data, {.batch_size = size, .seed = seed, .drop_last = true});
  const auto bound = train::bind_to_data(model, data, size);
  std::vector<InputBatch> batches;
  for (std::int64_t i = 0; i < std::min(kBatches, loader.batches()); ++i) {
    batches.push_back({train::fitted_samples(loader.batch(i).samples, bound)});
  }
  return batches;
}

}  // namespace assay::optimize
