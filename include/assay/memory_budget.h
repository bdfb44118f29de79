// The memory of a model's stored tensors, and which budgets it exceeds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/graph.h"

namespace assay {

// Σ elements × own type's size over all stored tensors, in units of 1024²; floating tensors as if
// stored in `stored_as`, where given.
double model_memory_mb(const Graph& model, std::optional<DataType> stored_as = {});

// "violates_{budget}mb" → memory > budget, in the order given. Budgets print in the shortest form
// with at least one decimal: violates_1.0mb, violates_0.25mb.
std::vector<std::pair<std::string, bool>> memory_violations(double memory_mb,
                                                            std::span<const double> budgets_mb);

}  // namespace assay
