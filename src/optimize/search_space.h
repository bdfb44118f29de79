// What a search tries for a model: which precisions, levels and ranks make sense for it.
#pragma once

#include "optimize/search.h"

namespace assay::optimize {

// The precisions that make sense for the model, small changes first.
struct LadderOptions {
  bool has_calibration = false;
  bool has_bfloat16 = false;
};
std::vector<VariantPrecision> precision_ladder(const Graph& model, const LadderOptions& options);

// Levels that cut other widths than the level before does: rounding makes many of them equal.
std::vector<double> distinct_levels(const Graph& model, const OptimizeOptions& options);

// Whether large matrices, which low rank makes smaller, hold most of the weights.
bool is_mostly_large_matrices(const Graph& model);

SearchSpace search_space(const Graph& model, const OptimizeOptions& options,
                         const VariantRecipe& base, bool has_calibration);

}  // namespace assay::optimize
