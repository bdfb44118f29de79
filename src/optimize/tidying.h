// Savings that change no result, around a change of precision: constants are folded before, since
// folding would undo it; equal weights are shared after, since each may get other codes.
#pragma once

#include <string>

#include "assay/tidy.h"

namespace assay::optimize {

class Tidying {
 public:
  explicit Tidying(bool is_wanted) : is_wanted_(is_wanted) {}

  Graph before_precision(Graph graph);
  Graph after_precision(Graph graph);
  bool saved_anything() const { return saved_.removed_nodes() + saved_.shared_tensors > 0; }
  std::string note() const;  // what was removed

 private:
  Graph tidied(Graph graph, const TidyOptions& options);

  bool is_wanted_ = false;
  TidyResult saved_;  // sums, without a graph
};

// Whether a version without any other change would be worth having.
bool is_untidy(const Graph& model);

}  // namespace assay::optimize
