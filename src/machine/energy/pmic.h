// What `vcgencmd pmic_read_adc` prints, as power per rail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::machine {

struct PmicPowers {
  std::map<std::string, std::int64_t> microwatts = {};
  std::vector<std::string> incomplete = {};  // rails with only one of volts and amperes
};
PmicPowers parse_pmic(std::string_view text);

}  // namespace assay::machine
