// Runs a float model on calibration data and observes values inside it: ranges, histograms, and
// means of channels. Memory is bounded: large batches are run in parts where the model's batch is
// free, and otherwise values are observed in groups, one run of all data for each.
#pragma once

#include <map>

#include "optimize/quantize/ranges.h"

namespace assay::optimize {

struct ObserveRequest {
  std::vector<ValueId> ranges = {};
  bool histograms = false;
  std::map<ValueId, std::size_t> means = {};  // with the axis of the channels
  std::int64_t most_bytes = 256 << 20;        // of observed values at a time
};

struct Observations {
  std::map<ValueId, ObservedValue> values = {};
  std::map<ValueId, std::vector<double>> means = {};  // by channel
  std::size_t samples = 0;
};

// Throws an Error without data, and one that names the value where a number is not finite.
Observations observe(const Graph& graph, const CalibrationData& data, const ObserveRequest& request,
                     const ProgramOptions& options, Progress* progress);

}  // namespace assay::optimize
