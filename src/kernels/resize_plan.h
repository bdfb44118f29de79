// Which input elements Resize, Upsample and their gradient combine into each output element,
// computed from scales or sizes.
#pragma once

#include "kernels/resize_taps.h"

namespace assay::kernels {

struct ResizePlan {
  std::vector<std::int64_t> dims = {};  // of the result
  Interpolation interpolation = Interpolation::Nearest;
  std::vector<std::vector<Taps>> taps = {};  // by axis, then by element of the result

  // Some results lie outside of what tf_crop_and_resize crops.
  bool has_outside() const;
};

// For an input of `dims`; the call's first input is not read. A gradient's other inputs and
// attributes are those of a Resize since opset 11.
ResizePlan resize_plan(const KernelCall& call, const std::vector<std::int64_t>& dims);

}  // namespace assay::kernels
