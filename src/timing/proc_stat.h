// The first line of Linux's /proc/stat: what all processors together have done since boot.
#pragma once

#include <optional>
#include <string_view>

#include "assay/timing.h"

namespace assay::timing {

// "cpu  user nice system idle iowait irq softirq steal …", in ticks; nothing if the text is not
// that. `own_seconds` is left at 0.
std::optional<MachineTimes> parse_proc_stat(std::string_view text, double ticks_per_second);

}  // namespace assay::timing
