// What a pruned model is compared with: the original, in which the removed channels are zero.
#pragma once

#include "assay/prune.h"
#include "execute/compare_engines.h"

namespace assay {

// The original with the channels that prune_model would remove set to zero, in stored tensors and
// behind every node. Norms and means over them are taken over those that are left.
Graph zeroed_model(const Graph& model, const PruneOptions& options);

// The pruned model against the zeroed one, on random inputs.
Difference compare_with_zeroed(const Graph& model, const PruneOptions& options,
                               const ProgramOptions& program = {}, std::uint64_t seed = 0);

}  // namespace assay
