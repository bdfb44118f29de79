// Times work on the GPU by its own clock: the best of several tries. Asks between tries whether the
// user has cancelled.
#pragma once

#include <functional>

#include "assay/progress.h"
#include "gpu/device.h"
#include "machine/tries.h"

namespace assay::machine {

class GpuStopwatch {
 public:
  GpuStopwatch(const gpu::Device& device, Progress& listener);

  const gpu::Device& device() const { return device_; }
  const gpu::Stream& stream() const { return stream_; }

  // `work` launches what is timed.
  TryTimes best(const TryLimits& limits, const std::function<void()>& work) const;
  // Throws an Error of kind Cancelled if the user wants that.
  void check_cancelled() const;

 private:
  std::int64_t nanoseconds_of(const std::function<void()>& work) const;

  const gpu::Device& device_;
  Progress& listener_;
  gpu::Stream stream_;
  gpu::Owned begin_;
  gpu::Owned end_;
};

}  // namespace assay::machine
