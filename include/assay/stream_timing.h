// Feeds work at a fixed interval, on a real clock, and reports whether it keeps up.
//
// Arrivals are open-loop: item i arrives at i · interval, whether or not those before it are done,
// and waits until they are. So a long run delays every item that arrives meanwhile, and these
// delays are counted: there is no coordinated omission.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/run.h"
#include "assay/timing.h"

namespace assay {

// A clock that can also be waited on: replaced in tests.
class PacedClock : public Clock {
 public:
  // Returns when that moment has come, as little later as possible.
  virtual void wait_until(std::int64_t nanoseconds) = 0;
};
PacedClock& paced_clock();  // sleeps, then polls the clock at the end

struct StreamOptions {
  double interval_ms = 0;
  std::optional<double> deadline_ms = {};       // for the response; default: the interval
  std::optional<double> duration_seconds = {};  // of arrivals; default: 100 intervals, 5 to 30 s
  std::optional<std::size_t> items = {};        // instead of a duration
  std::size_t warmup_runs = 3;                  // before the first arrival
};

// In milliseconds after the stream began.
struct StreamItem {
  double arrival_ms = 0;
  double start_ms = 0;
  double end_ms = 0;

  double queueing_ms() const { return start_ms - arrival_ms; }
  double service_ms() const { return end_ms - start_ms; }
  double response_ms() const { return end_ms - arrival_ms; }
};

// A tail is missing where too few items lie beyond it, as in LatencySummary.
struct DelaySummary {
  double mean_ms = 0;
  double median_ms = 0;
  std::optional<double> p90_ms = {};
  std::optional<double> p95_ms = {};
  std::optional<double> p99_ms = {};
  double max_ms = 0;
};

// Sustainable: in the last quarter, some item found the queue empty. Overloaded: none did, and
// items take longer than the interval on average. Undecided: none did although items are fast
// enough on average, or there were too few items.
enum class StreamVerdict { Sustainable, Overloaded, Undecided };
std::string_view name(StreamVerdict verdict);  // "SUSTAINABLE", "OVERLOADED", "UNDECIDED"

struct StreamMeasurement {
  double interval_ms = 0;
  double deadline_ms = 0;
  std::vector<StreamItem> items = {};  // served, in order
  std::size_t arrived = 0;
  std::size_t unserved = 0;          // arrived, but not begun when the stream ended
  std::size_t largest_backlog = 0;   // most items that waited at once
  std::size_t missed_deadlines = 0;  // including unserved items past their deadline
  double elapsed_ms = 0;
  double busy_ms = 0;
  double utilization = 0;  // busy / elapsed
  DelaySummary service = {};
  DelaySummary queueing = {};
  DelaySummary response = {};
  StreamVerdict verdict = StreamVerdict::Undecided;
  std::string reason = "";
  bool cancelled = false;

  double missed_share() const {
    return arrived > 0 ? static_cast<double>(missed_deadlines) / static_cast<double>(arrived) : 0;
  }
};

// `serve` works on one item. Throws an Error of kind Cancelled if `progress` cancels before the
// first one is done.
StreamMeasurement measure_stream(const std::function<void()>& serve, const StreamOptions& options,
                                 Progress* progress = nullptr, PacedClock& clock = paced_clock());

struct IntervalSearchOptions {
  std::optional<double> deadline_ms = {};  // at most one item in a hundred may miss it
  double budget_seconds = 20;
  double tolerance = 0.03;  // of the interval
};

struct IntervalProbe {
  double interval_ms = 0;
  StreamVerdict verdict = StreamVerdict::Undecided;
  double utilization = 0;
  double missed_share = 0;
  bool is_sustainable = false;
};

// By bisection; the result is confirmed by a run twice as long, and lengthened if that fails.
struct IntervalSearch {
  std::optional<double> interval_ms = {};  // the shortest sustainable one above all that failed
  bool is_confirmed = false;
  std::vector<IntervalProbe> probes = {};
  double elapsed_seconds = 0;
  bool cancelled = false;
};
IntervalSearch find_shortest_interval(const std::function<void()>& serve,
                                      const IntervalSearchOptions& options = {},
                                      Progress* progress = nullptr,
                                      PacedClock& clock = paced_clock());

// A model compiled once and streamed: a measurement, a search, or both, as requested.
struct StreamedModel {
  std::optional<StreamMeasurement> measured = {};
  std::optional<IntervalSearch> search = {};

  bool was_interrupted() const {
    return (measured && measured->cancelled) || (search && search->cancelled);
  }
};
StreamedModel stream_model(Graph model, const RunOptions& run,
                           const std::optional<StreamOptions>& stream,
                           const std::optional<IntervalSearchOptions>& search = {},
                           Progress* progress = nullptr);

}  // namespace assay
