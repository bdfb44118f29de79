// What a task may take, by the configuration.
#pragma once

#include "assay/sweep_config.h"
#include "sweep/isolated.h"

namespace assay::sweep {

inline IsolationLimits limits_of(const SweepConfig& config) {
  constexpr double kMegabyte = 1024.0 * 1024.0;
  IsolationLimits limits{.seconds = config.task_timeout_s};
  if (config.task_memory_mb) {
    limits.memory_bytes = static_cast<std::int64_t>(*config.task_memory_mb * kMegabyte);
  }
  return limits;
}

}  // namespace assay::sweep
