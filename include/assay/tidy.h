// Savings that change no result: what is not used is removed, what is constant is computed once,
// what is computed twice is computed once, equal weights are stored once.
#pragma once

#include <cstdint>

#include "assay/graph.h"

namespace assay {

struct TidyOptions {
  bool folds = true;  // constants
  bool shares = true;
  std::int64_t smallest_shared = 0;  // elements; smaller tensors stay as they are
};

struct TidyResult {
  Graph graph;
  std::int64_t idle_nodes = 0;      // that only passed their input on, or that nothing reads
  std::int64_t folded_nodes = 0;    // whose results are constants now
  std::int64_t merged_nodes = 0;    // that computed what another one computes
  std::int64_t shared_tensors = 0;  // equal to another stored tensor, which is read instead
  std::int64_t stored_bytes_before = 0;
  std::int64_t stored_bytes_after = 0;

  std::int64_t removed_nodes() const { return idle_nodes + folded_nodes + merged_nodes; }
};

// For inference: dropouts are removed. Names of inputs and outputs stay; shapes may be open.
// Constants are not folded where that would enlarge the model. Random nodes are never merged.
TidyResult tidy_model(const Graph& model, const TidyOptions& options = {});

}  // namespace assay
