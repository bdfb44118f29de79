// Words that the verdicts of studies share.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>

#include "assay/roofline.h"

namespace assay::profile {

// "8.0 times", "1.23 times"; "by an unknown factor".
inline std::string times_text(std::optional<double> factor) {
  if (!factor) return "by an unknown factor";
  return *factor >= 100 ? fmt::format("{:.0f} times", *factor)
                        : fmt::format("{:.3g} times", *factor);
}

// What limits something, at the beginning of a sentence or in a list.
inline std::string limit_word(Bound bound) {
  switch (bound) {
    case Bound::Compute:
      return "Arithmetic";
    case Bound::Memory:
      return "Memory traffic";
    case Bound::Overhead:
      break;
  }
  return "Overhead";
}

}  // namespace assay::profile
