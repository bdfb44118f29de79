// The advice rules, one function each: it returns its advice, or nothing if it does not apply.
// Their table is in advise.cpp, which also ranks the advice; docs/advice.md says when each applies.
#pragma once

#include <optional>

#include "profile/advice/facts.h"

namespace assay::profile {

// weights.cpp
std::optional<Advice> memory_bound_weights(const RunFacts& facts);
std::optional<Advice> small_batch(const RunFacts& facts);
// activations.cpp
std::optional<Advice> unfused_elementwise(const RunFacts& facts);
std::optional<Advice> memory_bound_activations(const RunFacts& facts);
// convolutions.cpp
std::optional<Advice> inefficient_depthwise(const RunFacts& facts);
std::optional<Advice> winograd_not_allowed(const RunFacts& facts);
// waste.cpp
std::optional<Advice> padding_waste(const RunFacts& facts);
std::optional<Advice> odd_channels(const RunFacts& facts);
// precision.cpp
std::optional<Advice> lower_precision(const RunFacts& facts);
// fell_back.cpp
std::optional<Advice> fell_back(const RunFacts& facts);
std::optional<Advice> reference_engine(const RunFacts& facts);
// overhead.cpp
std::optional<Advice> overhead(const RunFacts& facts);
// layout.cpp
std::optional<Advice> layout_changes(const RunFacts& facts);
// start_up.cpp
std::optional<Advice> start_up(const RunFacts& facts);

}  // namespace assay::profile
