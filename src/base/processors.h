// Which processors threads may run on.
#pragma once

#include <vector>

namespace assay {

// Those that this process may use, ascending, at least one. Read once, because a pinned thread
// would only see its own.
const std::vector<int>& available_processors();

// Pins the calling thread to these. If the system does not allow that, the thread is not pinned;
// this affects speed, never results.
void stay_on(const std::vector<int>& processors);

}  // namespace assay
