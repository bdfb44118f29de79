// Open-loop arrivals: item i arrives at i · interval.
#include <algorithm>
#include <cmath>

#include "assay/stream.h"
#include "assay/stream_timing.h"
#include "base/fail.h"
#include "profile/stream/stream_summary.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr double kNanosecondsPerMs = 1e6;
constexpr double kMostItems = 1e7;
constexpr std::int64_t kBetweenCancelChecks = 50'000'000;  // nanoseconds

void check(const std::function<void()>& serve, const StreamOptions& options) {
  if (!serve) fail_usage("there is no work to stream");
  check_stream_interval(options.interval_ms);
  const auto is_bad = [](const std::optional<double>& number) {
    return number && !(*number > 0 && std::isfinite(*number));
  };
  if (is_bad(options.deadline_ms)) {
    fail_usage("a deadline of {} ms: expected more than 0", *options.deadline_ms);
  }
  if (is_bad(options.duration_seconds)) {
    fail_usage("a stream of {} s: expected more than 0", *options.duration_seconds);
  }
  if (options.items == 0u) fail_usage("a stream of 0 items: at least one is needed");
}

std::size_t items_of(const StreamOptions& options) {
  if (options.items) return *options.items;
  const double usual_ms = std::clamp(100 * options.interval_ms, 5000.0, 30'000.0);
  const double lasts_ms = options.duration_seconds ? *options.duration_seconds * 1000 : usual_ms;
  return static_cast<std::size_t>(
      std::clamp(std::floor(lasts_ms / options.interval_ms + 1e-9), 1.0, kMostItems));
}

class Stream {
 public:
  Stream(const std::function<void()>& serve, const StreamOptions& options, Progress& progress,
         PacedClock& clock)
      : serve_(serve),
        interval_ms_(options.interval_ms),
        planned_(items_of(options)),
        progress_(progress),
        clock_(clock) {}

  // Ends when the last planned item's interval is over, whatever is left waiting then.
  StreamTaken run() {
    start_ns_ = clock_.nanoseconds();
    asked_ns_ = start_ns_ - kBetweenCancelChecks;
    for (std::size_t i = 0; i < planned_ && now_ms() < end_ms() && come(i); ++i) serve_one(i);
    taken_.interval_ms = interval_ms_;
    const double last_ms = taken_.items.empty() ? 0 : taken_.items.back().end_ms;
    taken_.elapsed_ms = taken_.cancelled ? now_ms() : std::max(end_ms(), last_ms);
    const double seen_ms = std::min(taken_.elapsed_ms, arrival_ms(planned_ - 1));
    taken_.arrived =
        std::max(taken_.items.size(),
                 static_cast<std::size_t>(std::floor(seen_ms / interval_ms_ + 1e-9)) + 1);
    return std::move(taken_);
  }

 private:
  double arrival_ms(std::size_t i) const { return static_cast<double>(i) * interval_ms_; }
  double end_ms() const { return arrival_ms(planned_); }
  double now_ms() const {
    return static_cast<double>(clock_.nanoseconds() - start_ns_) / kNanosecondsPerMs;
  }

  // Waits for the item; false if cancelled meanwhile.
  bool come(std::size_t i) {
    const std::int64_t arrival_ns = start_ns_ + std::llround(arrival_ms(i) * kNanosecondsPerMs);
    for (std::int64_t now = clock_.nanoseconds();; now = clock_.nanoseconds()) {
      if (now >= asked_ns_ + kBetweenCancelChecks && !goes_on(now)) return false;
      if (now >= arrival_ns) return true;
      clock_.wait_until(std::min(arrival_ns, now + kBetweenCancelChecks));
    }
  }

  bool goes_on(std::int64_t now) {
    asked_ns_ = now;
    progress_.report(std::min(1.0, now_ms() / end_ms()), "streaming");
    taken_.cancelled = progress_.cancelled();
    return !taken_.cancelled;
  }

  void serve_one(std::size_t i) {
    StreamItem item{.arrival_ms = arrival_ms(i)};
    item.start_ms = now_ms();
    serve_();
    item.end_ms = now_ms();
    taken_.items.push_back(item);
  }

  const std::function<void()>& serve_;
  double interval_ms_ = 0;
  std::size_t planned_ = 1;
  Progress& progress_;
  PacedClock& clock_;
  std::int64_t start_ns_ = 0;
  std::int64_t asked_ns_ = 0;
  StreamTaken taken_ = {};
};

}  // namespace

StreamMeasurement measure_stream(const std::function<void()>& serve, const StreamOptions& options,
                                 Progress* progress, PacedClock& clock) {
  check(serve, options);
  Progress no_progress;
  for (std::size_t i = 0; i < options.warmup_runs; ++i) serve();
  StreamTaken taken = Stream(serve, options, progress ? *progress : no_progress, clock).run();
  if (taken.items.empty()) {
    throw Error(ErrorKind::Cancelled, "interrupted before an item was done");
  }
  return summarized(std::move(taken), options.deadline_ms.value_or(options.interval_ms));
}

}  // namespace assay
