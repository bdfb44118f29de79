// A model bound to batches of a data set, after checking that the two fit together.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/dataset.h"
#include "assay/infer.h"

namespace assay::train {

struct BoundModel {
  Inferred model = {};
  std::vector<std::int64_t> input_dims = {};  // of a batch
  std::int64_t outputs = 0;                   // scores for a sample
};

// The model takes one input, whose samples have the data's shape or are those laid out flat, and
// gives at least as many scores as there are classes. Anything else is an Error that names both
// shapes; a label out of range one with its index.
BoundModel bind_to_data(const Graph& graph, const Dataset& data, std::int64_t batch_size);

// The batch in the shape that the model takes, filled up with its first sample.
Tensor fitted_samples(const Tensor& samples, const BoundModel& model);

}  // namespace assay::train
