// What zero weights would save: a count. No engine here skips single zeros, so nothing of this is
// run or timed; structured pruning (prune.h) is what makes a model faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/graph.h"

namespace assay {

struct SparseLayer {
  std::string name;
  std::int64_t weights = 0;
  std::int64_t zeros = 0;  // already there
  std::int64_t macs = 0;
  // The smallest weights of the layer set to zero, up to the level.
  std::int64_t unstructured_zeros = 0;
  double unstructured_magnitude = 1;  // what is left of the sum of |w|
  // Two of every four weights that are summed together: only where their number is a multiple of
  // four.
  bool fits_2_4 = false;
  double magnitude_2_4 = 1;  // what is left of the sum of |w|
};

struct SparsityTotals {
  std::int64_t weights = 0;
  std::int64_t zeros = 0;
  std::int64_t macs = 0;
  std::int64_t dense_bytes = 0;
  std::int64_t unstructured_macs = 0;   // that would be left
  std::int64_t unstructured_bytes = 0;  // values that are not zero, and a bit for each weight
  std::int64_t macs_2_4 = 0;
  std::int64_t bytes_2_4 = 0;  // half of the values, and two bits for each of these
};

struct SparsityCount {
  double level = 0;
  std::vector<SparseLayer> layers;  // convolutions and products with a constant matrix
  SparsityTotals totals;
  std::string note;  // that it is counted, not run
};

// `level` is the share of zeros, in [0, 1). Shapes that are open are bound for counting MACs.
SparsityCount count_sparsity(const Graph& model, double level, const Bindings& bindings = {});

}  // namespace assay
