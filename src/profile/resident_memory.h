// How far the process's memory grew since this was made, at its peak.
#pragma once

#include <cstdint>
#include <optional>

namespace assay::profile {

class ResidentGrowth {
 public:
  ResidentGrowth();  // resets the kernel's high-water mark, where that is allowed

  // Missing where the system does not tell, or where an older peak hides this one.
  std::optional<std::int64_t> bytes() const;

 private:
  std::optional<std::int64_t> resident_before_ = {};
  std::optional<std::int64_t> peak_before_ = {};
};

}  // namespace assay::profile
