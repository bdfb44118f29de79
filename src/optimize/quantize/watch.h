// One value of a model while calibration data runs through it: what has been seen of it so far.
#pragma once

#include <optional>

#include "assay/graph.h"
#include "assay/program.h"
#include "optimize/quantize/ranges.h"

namespace assay::optimize {

struct Watch {
  ValueId value;
  bool wants_range = false;
  bool wants_histogram = false;
  std::optional<std::size_t> channel_axis = {};

  ObservedValue seen = {};
  bool has_seen = false;
  bool is_finite = true;
  std::vector<double> sums = {};
  double summed = 0;  // numbers in each sum

  void look_at(const OutputView& view, int threads);
  void look_at(const Tensor& tensor, int threads);
  std::vector<double> means() const;  // of channels
};

}  // namespace assay::optimize
