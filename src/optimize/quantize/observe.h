// Runs a float model on calibration data and observes values inside it: ranges, histograms, and
// means of channels. Values are observed where they lie, as soon as they are computed. Where the
// model's batch is free, samples are run several at a time, as many as memory allows.
#pragma once

#include <map>

#include "optimize/quantize/ranges.h"

namespace assay::optimize {

struct ObserveRequest {
  std::vector<ValueId> ranges = {};
  bool histograms = false;
  std::map<ValueId, std::size_t> means = {};  // with the axis of the channels
  std::int64_t most_bytes = 128 << 20;        // of activations at a time, if batches can be divided
  std::int64_t most_rows = 8;                 // at a time
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
