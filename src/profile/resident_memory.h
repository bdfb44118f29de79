// Peak growth of the process's resident memory since construction.
#pragma once

#include <cstdint>
#include <optional>

namespace assay::profile {

class ResidentGrowth {
 public:
  ResidentGrowth();  // resets the kernel's high-water mark, where that is allowed

  // Missing if the system does not report it, or if an earlier peak was higher.
  std::optional<std::int64_t> bytes() const;

 private:
  std::optional<std::int64_t> resident_before_ = {};
  std::optional<std::int64_t> peak_before_ = {};
};

}  // namespace assay::profile
