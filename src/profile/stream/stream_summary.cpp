#include "profile/stream/stream_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stats/order_statistics.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr std::size_t kFewestItems = 10;  // to say whether a stream keeps up
// Times are kept in milliseconds: equal ones may differ in the last place.
constexpr double kRounding_ms = 1e-6;

template <typename Delay>
DelaySummary delays(const std::vector<StreamItem>& items, Delay delay) {
  std::vector<double> times;
  for (const StreamItem& item : items) times.push_back((item.*delay)());
  const auto ascending = stats::sorted(times);
  return {.mean_ms = stats::moments(times).mean,
          .median_ms = stats::median(times),
          .p90_ms = stats::tail_of_sorted(ascending, 0.90),
          .p95_ms = stats::tail_of_sorted(ascending, 0.95),
          .p99_ms = stats::tail_of_sorted(ascending, 0.99),
          .max_ms = ascending.empty() ? 0 : ascending.back()};
}

std::size_t missed(const StreamTaken& taken, double deadline_ms) {
  std::size_t count = 0;
  for (const StreamItem& item : taken.items) {
    if (item.response_ms() > deadline_ms + kRounding_ms) ++count;
  }
  for (std::size_t i = taken.items.size(); i < taken.arrived; ++i) {
    const double waited_ms = taken.elapsed_ms - static_cast<double>(i) * taken.interval_ms;
    if (waited_ms > deadline_ms + kRounding_ms) ++count;
  }
  return count;
}

// The most that waited while one was served, or at the end.
std::size_t largest_backlog(const StreamTaken& taken) {
  std::size_t largest = taken.arrived - taken.items.size();
  for (std::size_t i = 0; i < taken.items.size(); ++i) {
    const double end_ms = taken.items[i].end_ms - kRounding_ms;
    const auto arrived = static_cast<std::size_t>(std::max(0.0, end_ms / taken.interval_ms)) + 1;
    const std::size_t came = std::min(arrived, taken.arrived);
    if (came > i + 1) largest = std::max(largest, came - i - 1);
  }
  return largest;
}

bool found_nothing_before_it(const std::vector<StreamItem>& items, std::size_t i) {
  return i == 0 || items[i - 1].end_ms <= items[i].arrival_ms + kRounding_ms;
}

bool was_idle_lately(const StreamTaken& taken) {
  for (std::size_t i = taken.arrived - taken.arrived / 4; i < taken.items.size(); ++i) {
    if (found_nothing_before_it(taken.items, i)) return true;
  }
  return false;
}

void judge(const StreamTaken& taken, StreamMeasurement& measured) {
  const double mean_ms = measured.service.mean_ms;
  const std::string pace = fmt::format("an item takes {} on average and arrives every {}",
                                       duration_text(mean_ms), duration_text(taken.interval_ms));
  if (taken.arrived < kFewestItems) {
    measured.reason =
        fmt::format("{} items are too few to tell, {} needed", taken.arrived, kFewestItems);
  } else if (was_idle_lately(taken)) {
    measured.verdict = StreamVerdict::Sustainable;
    measured.reason = pace;
  } else if (mean_ms >= taken.interval_ms) {
    measured.verdict = StreamVerdict::Overloaded;
    measured.reason = fmt::format("{}: {} were left waiting", pace, measured.unserved);
  } else {
    measured.reason = fmt::format(
        "{}, but the queue had not emptied by the end (the longest took {}); stream it for longer",
        pace, duration_text(measured.service.max_ms));
  }
}

}  // namespace

std::string_view name(StreamVerdict verdict) {
  switch (verdict) {
    case StreamVerdict::Sustainable:
      return "SUSTAINABLE";
    case StreamVerdict::Overloaded:
      return "OVERLOADED";
    case StreamVerdict::Undecided:
      return "UNDECIDED";
  }
  return "UNDECIDED";
}

StreamMeasurement profile::summarized(StreamTaken taken, double deadline_ms) {
  StreamMeasurement measured{.interval_ms = taken.interval_ms, .deadline_ms = deadline_ms};
  measured.arrived = taken.arrived;
  measured.unserved = taken.arrived - taken.items.size();
  measured.largest_backlog = largest_backlog(taken);
  measured.missed_deadlines = missed(taken, deadline_ms);
  measured.elapsed_ms = taken.elapsed_ms;
  for (const StreamItem& item : taken.items) measured.busy_ms += item.service_ms();
  if (taken.elapsed_ms > 0) measured.utilization = measured.busy_ms / taken.elapsed_ms;
  measured.service = delays(taken.items, &StreamItem::service_ms);
  measured.queueing = delays(taken.items, &StreamItem::queueing_ms);
  measured.response = delays(taken.items, &StreamItem::response_ms);
  judge(taken, measured);
  measured.cancelled = taken.cancelled;
  measured.items = std::move(taken.items);
  return measured;
}

}  // namespace assay
