#include "machine/gpu/gpu_stopwatch.h"

#include "assay/error.h"

namespace assay::machine {

GpuStopwatch::GpuStopwatch(const gpu::Device& device, Progress& listener)
    : device_(device),
      listener_(listener),
      stream_((device.use(), device)),
      begin_(gpu::new_event(device)),
      end_(gpu::new_event(device)) {}

TryTimes GpuStopwatch::best(const TryLimits& limits, const std::function<void()>& work) const {
  return best_of(limits, [&] { return nanoseconds_of(work); });
}

void GpuStopwatch::check_cancelled() const {
  if (listener_.cancelled())
    throw Error(ErrorKind::Cancelled, "interrupted while the GPU's ceilings were measured");
}

std::int64_t GpuStopwatch::nanoseconds_of(const std::function<void()>& work) const {
  check_cancelled();
  stream_.record(begin_);
  work();
  stream_.record(end_);
  return static_cast<std::int64_t>(gpu::milliseconds_between(device_, begin_, end_) * 1e6);
}

}  // namespace assay::machine
