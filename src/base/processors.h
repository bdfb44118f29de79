// Which processors threads may run on.
#pragma once

#include <vector>

namespace assay {

// Those that this process may use, ascending, at least one. Asked once: a pinned thread would only
// see its own.
const std::vector<int>& available_processors();

// Keeps the calling thread on these. Where the system does not allow that, it stays as it was,
// which changes speed, never results.
void stay_on(const std::vector<int>& processors);

}  // namespace assay
