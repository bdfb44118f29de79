// Batches of training data, to compute statistics on.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/dataset.h"
#include "assay/graph.h"
#include "assay/prune_measured.h"

namespace assay::optimize {

// A few large ones: statistics of a batch should be near those of all data.
std::vector<InputBatch> training_batches(const Graph& model, const Dataset& data,
                                         std::int64_t batch_size, std::uint64_t seed);

}  // namespace assay::optimize
