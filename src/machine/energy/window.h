// How long a window must be compared with the meter's update interval.
#pragma once

#include "assay/energy_meter.h"

namespace assay::machine {

// Either end of a window may be off by one update: with twenty, the joules by 5 % or so.
inline constexpr double kUpdatesPerWindow = 20;

inline double window_needed_ms(const MeterInfo& info) {
  return kUpdatesPerWindow * info.update_ms;
}

}  // namespace assay::machine
