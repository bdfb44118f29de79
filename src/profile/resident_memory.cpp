#include "profile/resident_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace assay::profile {

namespace {

// Linux: "VmHWM:     12345 kB" in /proc/self/status. Elsewhere there is no such file.
std::optional<std::int64_t> status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == field && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

// "5" resets the peak to what is resident now; containers may forbid it.
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5\n";
}

}  // namespace

ResidentGrowth::ResidentGrowth() {
  reset_peak();
  resident_before_ = status_bytes("VmRSS:");
  peak_before_ = status_bytes("VmHWM:");
}

std::optional<std::int64_t> ResidentGrowth::bytes() const {
  constexpr std::int64_t kAccountingSlack = std::int64_t{1} << 20;  // counters lag behind by pages
  const auto peak = status_bytes("VmHWM:");
  if (!peak || !resident_before_ || !peak_before_) return std::nullopt;
  const bool was_reset = *peak_before_ <= *resident_before_ + kAccountingSlack;
  if (!was_reset && *peak <= *peak_before_) return std::nullopt;
  return std::max<std::int64_t>(0, *peak - *resident_before_);
}

}  // namespace assay::profile
