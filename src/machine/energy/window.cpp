#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "assay/energy.h"
#include "machine/energy/accumulator.h"
#include "machine/energy/window.h"

namespace assay {

using namespace assay::machine;

namespace {

constexpr double kLongestPeriod = 1;  // seconds between two readings
constexpr double kShortestPeriod = 0.001;
constexpr double kReadingsPerRange = 4;  // of a counter that wraps as fast as it can

// Counters must be read before they can wrap once; power as often as it is updated.
double reading_period(const MeterInfo& info) {
  double seconds = kLongestPeriod;
  if (info.kind == MeterKind::Power) seconds = std::min(seconds, info.update_ms * 1e-3);
  for (const MeterChannel& channel : info.channels) {
    if (!channel.range) continue;
    const double range_j = static_cast<double>(*channel.range) * 1e-6;
    seconds = std::min(seconds, range_j / info.max_watts / kReadingsPerRange);
  }
  return std::max(seconds, kShortestPeriod);
}

std::vector<EnergyAccumulator> accumulators(const MeterInfo& info) {
  std::vector<EnergyAccumulator> all;
  for (const MeterChannel& channel : info.channels) {
    all.emplace_back(info.kind, channel.range, info.max_watts);
  }
  return all;
}

void flag_channel(const std::string& channel, const EnergyAccumulator& total,
                  std::vector<EnergyFlag>& flags) {
  if (!total.joules()) {
    flags.push_back(
        {"unread", fmt::format("{} could not be read when the window began or ended: {}", channel,
                               total.why_missed())});
  } else if (total.missed() > 0) {
    flags.push_back(
        {"missed-readings", fmt::format("{}: {} of {} readings failed: {}", channel, total.missed(),
                                        total.readings(), total.why_missed())});
  }
  if (total.dropped_seconds() > 0) {
    flags.push_back({"dropped-stretch",
                     fmt::format("{} jumped, but did not wrap: {:.3f} s are not counted, the "
                                 "energy is too low",
                                 channel, total.dropped_seconds())});
  }
  if (total.may_have_wrapped_unseen()) {
    flags.push_back({"wrap-unseen", fmt::format("{} was not read for so long that it may have "
                                                "wrapped unnoticed: the energy may be too low",
                                                channel)});
  }
}

}  // namespace

struct EnergyWindow::State {
  State(EnergyMeter& the_meter, Pace& the_pace)
      : meter(the_meter), pace(the_pace), totals(accumulators(the_meter.info())) {}

  void take() {
    const std::scoped_lock lock(mutex);
    if (!is_finished) take_now();
  }
  // Later ticks do not count: the window ends with the work.
  void take_last() {
    const std::scoped_lock lock(mutex);
    take_now();
    is_finished = true;
  }
  // The clock is read before and after: the values belong to some moment in between.
  void take_now() {
    const std::int64_t before = pace.nanoseconds();
    const std::vector<MeterValue> values = meter.read();
    last_ns = before + (pace.nanoseconds() - before) / 2;
    for (std::size_t i = 0; i < totals.size(); ++i) {
      totals[i].add(last_ns, i < values.size() ? values[i] : MeterValue{.why_not = "not reported"});
    }
  }
  bool is_short(double seconds) const { return seconds * 1e3 < window_needed_ms(meter.info()); }
  bool is_whole() const {
    for (std::size_t i = 0; i < totals.size(); ++i) {
      if (meter.info().channels[i].is_counted && totals[i].dropped_seconds() > 0) return false;
    }
    return true;
  }
  EnergyReading reading() const;

  EnergyMeter& meter;
  Pace& pace;
  std::mutex mutex;
  std::vector<EnergyAccumulator> totals;
  std::int64_t start_ns = 0;
  std::int64_t last_ns = 0;
  bool is_finished = false;
  std::shared_ptr<void> ticking;
};

EnergyReading EnergyWindow::State::reading() const {
  const MeterInfo& info = meter.info();
  const bool counts_anything = std::ranges::any_of(info.channels, &MeterChannel::is_counted);
  EnergyReading reading = {.source = fmt::format("{}: {}", info.source, covers(info)),
                           .seconds = static_cast<double>(last_ns - start_ns) * 1e-9,
                           .gross_j = counts_anything ? std::optional(0.0) : std::nullopt};
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const MeterChannel& channel = info.channels[i];
    const auto joules = totals[i].joules();
    reading.channels.push_back({channel.name, channel.is_counted, joules});
    flag_channel(channel.name, totals[i], reading.flags);
    if (!channel.is_counted) continue;
    reading.gross_j =
        reading.gross_j && joules ? std::optional(*reading.gross_j + *joules) : std::nullopt;
  }
  if (is_short(reading.seconds)) {
    reading.flags.push_back(
        {"short-window", fmt::format("{:.0f} ms are fewer than {} updates of "
                                     "the meter ({:.3g} ms each): run longer",
                                     reading.seconds * 1e3, kUpdatesPerWindow, info.update_ms)});
  }
  return reading;
}

EnergyWindow::EnergyWindow(EnergyMeter& meter, Pace& pace)
    : state_(std::make_unique<State>(meter, pace)) {
  state_->take();
  state_->start_ns = state_->last_ns;
  state_->ticking =
      pace.every(reading_period(meter.info()), [state = state_.get()] { state->take(); });
}

EnergyWindow::~EnergyWindow() {
  state_->ticking.reset();
}

EnergyReading EnergyWindow::finish(std::optional<double> idle_watts) {
  state_->take_last();
  state_->ticking.reset();
  EnergyReading reading = state_->reading();
  reading.idle_watts = idle_watts;
  if (!reading.gross_j || !idle_watts || !state_->is_whole()) return reading;
  reading.net_j = *reading.gross_j - *idle_watts * reading.seconds;
  if (*reading.net_j < 0) {
    reading.flags.push_back(
        {"below-idle",
         "idle power was above the power while running: something else ran during idling"});
  }
  return reading;
}

}  // namespace assay
