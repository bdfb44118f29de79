// What a Raspberry Pi reports about its power supply and temperature: whether its firmware saw a
// supply below 4.63 V, or lowered the processor's frequency. Machines of other kinds report
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/timing.h"

namespace assay::timing {

// What `vcgencmd get_throttled` printed; nothing if it could not be run.
using RunGetThrottled = std::function<std::optional<std::string>()>;
std::optional<std::string> run_get_throttled();

// "throttled=0x50005", as vcgencmd prints it, or "50005", as the kernel does.
std::optional<std::uint32_t> parse_throttled(std::string_view text);

// From the command, which is always up to date, or else from the kernel's files, which follow
// within two seconds. Nothing on other boards. `root` stands in for "/" in tests.
std::optional<std::uint32_t> read_throttled(const std::string& root, const RunGetThrottled& run);

// "under-voltage" and "throttling", where they occurred between these moments.
std::vector<TimingWarning> board_warnings(const MachineTimes& before, const MachineTimes& after);

}  // namespace assay::timing
