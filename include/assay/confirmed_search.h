// A search whose result is confirmed: a search times versions within one process; a comparison with
// the original in fresh processes has the last word. Where that misses the target, the search goes
// on with a stricter one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "assay/comparison.h"
#include "assay/optimize.h"

namespace assay {

struct ConfirmationRequest {
  OptimizeGoal goal = {};
  // Of the original's latency, where `target_ms` is that: the ratio measured then counts.
  std::optional<double> target_share = {};
  bool is_for_device = false;  // latencies are predicted, so there is nothing to confirm
};

// The version compared with the original, which is a.
struct CheckedVersion {
  std::optional<Comparison> comparison = {};
  bool interrupted = false;
};

class ConfirmationSteps {
 public:
  virtual ~ConfirmationSteps() = default;
  virtual OptimizeResult search(const OptimizeGoal& goal) = 0;
  // Called for each chosen version, interrupted searches included: their version is to be written.
  virtual CheckedVersion check(const OptimizeResult& result) = 0;
};

struct ConfirmedVersion {
  OptimizeResult result = {};  // with the versions that all searches tried
  std::optional<Comparison> comparison = {};
  std::size_t round = 0;   // in which it was found, from 0
  bool met = false;        // the goal, by that comparison
  OptimizeGoal goal = {};  // with the last margin
  // Versions that met the target when the search timed them, but not in a comparison.
  std::vector<VariantRecipe> unconfirmed = {};
};

// Searches up to four times. `original` is measured.
ConfirmedVersion confirmed_search(const ConfirmationRequest& request, const OptimizeTrial& original,
                                  ConfirmationSteps& steps);

}  // namespace assay
