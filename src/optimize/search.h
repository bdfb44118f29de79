// The order in which versions of a model are tried.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/optimize.h"

namespace assay::optimize {

// {0.05, 0.1, …, largest}
std::vector<double> levels_up_to(double largest, double step);

struct SearchSpace {
  VariantRecipe base = {};  // what every version has
  std::vector<VariantPrecision> precisions = {VariantPrecision::AsStored};  // small changes first
  std::vector<double> shares = {};   // of low rank, large ones first; none: not searched
  std::optional<double> level = {};  // of pruning, fixed; nothing: one of `levels`
  std::vector<double> levels = levels_up_to(0.9, 0.05);
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

// The smallest change that meets the target within the loss: each precision by itself, then with
// the precisions that came nearest to it low rank, then pruning. Nothing if there is none.
std::optional<VariantRecipe> smallest_change(const SearchSpace& space, Tries& tries);

// Without a target: the fastest version within the loss. Nothing if none is faster than the first.
std::optional<VariantRecipe> fastest_version(const SearchSpace& space, Tries& tries);

// How many versions a search tries at most, to show progress.
std::size_t most_tries(const SearchSpace& space);

}  // namespace assay::optimize
