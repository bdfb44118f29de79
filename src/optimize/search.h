// The order in which versions of a model are tried.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/optimize.h"

namespace assay::optimize {

struct SearchSpace {
  std::vector<VariantPrecision> precisions = {VariantPrecision::AsStored};  // small changes first
  std::optional<double> level = {};  // fixed; nothing: searched
  double largest_level = 0.9;
  double step = 0.05;
};

// What trying a version tells the search.
struct Attempt {
  bool is_made = false;
  double excess = 0;           // its figure over the target's, the worst of them; at most 1: met
  bool is_within_loss = true;  // true where the loss was not measured
  double latency_ms = 0;

  bool meets_target() const { return is_made && excess <= 1; }
};

class Tries {
 public:
  virtual ~Tries() = default;
  // Latency and memory; quality only where that is cheap.
  virtual Attempt costed(const VariantRecipe& recipe) = 0;
  // Quality too.
  virtual Attempt judged(const VariantRecipe& recipe) = 0;
};

// The smallest change that meets the target within the loss: each precision by itself, then levels
// of pruning with the precisions that came nearest to it. Nothing if there is none.
std::optional<VariantRecipe> smallest_change(const SearchSpace& space, Tries& tries);

// Without a target: the fastest version within the loss. Nothing if none is faster than the first.
std::optional<VariantRecipe> fastest_version(const SearchSpace& space, Tries& tries);

// How many versions a search tries at most, to show progress.
std::size_t most_tries(const SearchSpace& space);

}  // namespace assay::optimize
