// How often the body of a Loop runs, found by running only the part of it that decides when to
// stop: a counter and its comparison, as exporters write `while` loops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "assay/graph.h"

namespace assay::infer {

// A Loop whose condition holds on entry.
struct LoopStart {
  const Graph& body;                        // inferred
  std::optional<std::int64_t> most = {};    // rounds; none: unlimited
  std::vector<const Tensor*> carried = {};  // initial content; null where it is not known
  // The content of a value of the body that is the same in every round, or null.
  std::function<const Tensor*(ValueId)> known = {};
};

// Nothing if that part needs values that are only known at run time, or runs for too long: it takes
// its work from `budget`.
std::optional<std::int64_t> loop_rounds(const LoopStart& start, std::int64_t& budget);

}  // namespace assay::infer
