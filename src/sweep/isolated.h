// Work in a process of its own: what crashes, hangs or takes too much memory there is an outcome
// here.
//
// The process is a copy of this one, so it starts at once and sees everything that was loaded. This
// process must not have started any thread before: copies of a process have the calling one alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "assay/progress.h"

namespace assay::sweep {

struct IsolationLimits {
  double seconds = 600;
  std::optional<std::int64_t> memory_bytes = {};  // to allocate; nothing: what is free
};

struct IsolatedEnd {
  enum class Kind { Finished, Failed, Stopped };
  Kind kind = Kind::Finished;
  std::string text = "";  // the work's result, or why it failed
};

// Stopped: `progress` cancelled and `stops_when_cancelled`, or it was killed after cancelling. The
// process never outlives this one.
IsolatedEnd run_isolated(const std::function<std::string(Progress&)>& work,
                         const IsolationLimits& limits, Progress* progress,
                         bool stops_when_cancelled);

}  // namespace assay::sweep
