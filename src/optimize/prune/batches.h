// Runs a model with more outputs than it has on batches of inputs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "assay/prune_measured.h"

namespace assay::optimize {

// Checks that there are batches, each with a tensor for every input. The shapes of the first one.
Bindings bindings_of(const Graph& model, std::span<const InputBatch> batches);

struct BatchRuns {
  const ProgramOptions& options;
  Progress* progress = nullptr;
  std::string what;  // is done, for progress and cancellation: "recalibrating"
};
// Calls `visit` with the outputs of each batch.
void run_batches(const Graph& model, std::span<const InputBatch> batches, const BatchRuns& runs,
                 const std::function<void(const std::vector<Tensor>&)>& visit);

void report_progress(Progress* progress, double fraction, const std::string& what);

}  // namespace assay::optimize
