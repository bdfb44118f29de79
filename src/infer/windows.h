// Windows that slide over spatial axes: what convolutions and poolings share.
#pragma once

#include "infer/dims.h"

namespace assay::infer {

struct Windows {
  Dims kernel;  // -1 where not known
  Dims strides;
  Dims dilations;
  Dims pads;  // all begins, then all ends
  std::string auto_pad = "NOTSET";
  bool rounds_up = false;

  std::size_t axes() const { return kernel.size(); }
  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
};

// Reads strides, dilations, pads, auto_pad and ceil_mode, and checks them against the kernel's
// rank.
Windows windows_of(const InferContext& context, Dims kernel);

// (kernel - 1) · dilation + 1
std::int64_t window_extent(const InferContext& context, const Windows& windows, std::size_t axis);

// How many windows fit along `axis` of an input of size `dim`.
Dim window_count(const InferContext& context, const Windows& windows, std::size_t axis,
                 const Dim& dim);

// The `axes` numbers of kernel_shape; fails unless all are positive.
Dims kernel_attribute(const InferContext& context, std::size_t axes);

}  // namespace assay::infer
