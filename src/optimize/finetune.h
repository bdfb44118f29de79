// Training of a version that lost something, on the data of the original.
#pragma once

#include "assay/dataset.h"
#include "assay/optimize.h"

namespace assay::optimize {

Graph finetuned(const Graph& graph, const Dataset& training, const OptimizeOptions& options,
                Progress* progress);

// The rate, of a few, with the least loss after a short training: a version that lost much needs a
// higher one than a version that lost little. Judged on training samples set aside.
double rate_by_trial(const Graph& graph, const Dataset& training, const OptimizeOptions& options,
                     Progress* progress);

}  // namespace assay::optimize
