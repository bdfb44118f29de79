// The range that an activation is quantised over, from what was observed of it.
#pragma once

#include "assay/quantize.h"
#include "optimize/quantize/histogram.h"

namespace assay::optimize {

struct ValueRange {
  double least = 0;
  double greatest = 0;
};

struct ObservedValue {
  ValueRange range = {};
  Histogram histogram = {};  // empty for MinMax
};

ValueRange chosen_range(const ObservedValue& observed, CalibrationMethod method, double percentile);

}  // namespace assay::optimize
