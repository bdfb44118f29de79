// How often the body of a Loop or Scan runs, where that is known without running.
#pragma once

#include <cstdint>
#include <optional>

#include "cost/op_view.h"

namespace assay::cost {

// Known when the condition provably holds every time (or never does) and the trip count is known,
// or when the condition depends on nothing that is only known at run time.
std::optional<std::int64_t> loop_trips(const OpView& loop, const GraphScope& scope);
std::optional<std::int64_t> scan_trips(const OpView& scan);

}  // namespace assay::cost
