// Summarises the times of a stream's items: delays, missed deadlines, backlog, the verdict.
#pragma once

#include "assay/stream_timing.h"

namespace assay::profile {

struct StreamTaken {
  double interval_ms = 0;
  std::vector<StreamItem> items = {};  // served, in order
  std::size_t arrived = 0;
  double elapsed_ms = 0;
  bool cancelled = false;
};

StreamMeasurement summarized(StreamTaken taken, double deadline_ms);

}  // namespace assay::profile
