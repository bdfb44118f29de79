// How often the body of a Loop or Scan runs, where that is known without running.
#pragma once

#include <cstdint>
#include <optional>

#include "cost/op_view.h"

namespace assay::cost {

// Known only when the trip count is, and the condition provably holds every time (or never does).
std::optional<std::int64_t> loop_trips(const OpView& loop, const GraphScope& scope);
std::optional<std::int64_t> scan_trips(const OpView& scan);

}  // namespace assay::cost
