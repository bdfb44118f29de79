#include "profile/stream/forecast.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace assay {

std::string_view name(StreamOutlook outlook) {
  switch (outlook) {
    case StreamOutlook::KeepsUp:
      return "KEEPS UP";
    case StreamOutlook::Tight:
      return "TIGHT";
    case StreamOutlook::TooSlow:
      return "TOO SLOW";
    case StreamOutlook::Unknown:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

namespace profile {

namespace {

// "1.9", "35", "1,200"
std::string ratio_text(double ratio) {
  return ratio < 100 ? fmt::format("{:.2g}", ratio) : rate_text(ratio);
}

StreamOutlook outlook_of(const StreamForecast& forecast, double latency_ms, double interval_ms) {
  if (latency_ms > interval_ms) return StreamOutlook::TooSlow;
  if (!forecast.is_calibrated) return StreamOutlook::Unknown;
  const bool is_safe = *forecast.latency_high_ms <= interval_ms;
  return is_safe ? StreamOutlook::KeepsUp : StreamOutlook::Tight;
}

std::string at_least_text(double latency_ms, double interval_ms) {
  const std::string takes = "an item takes at least " + duration_text(latency_ms);
  if (latency_ms > interval_ms) {
    return fmt::format("{} and arrives every {}: at least {} times too slow", takes,
                       duration_text(interval_ms), ratio_text(latency_ms / interval_ms));
  }
  return fmt::format(
      "{} of every {}, a lower bound; measure it, or call `calibrate` once for an estimate", takes,
      duration_text(interval_ms));
}

std::string estimate_text(const StreamForecast& forecast, double latency_ms, double interval_ms) {
  const std::string every = duration_text(interval_ms);
  const std::string about = duration_text(latency_ms);
  const std::string longest = duration_text(*forecast.latency_high_ms);
  switch (forecast.outlook) {
    case StreamOutlook::TooSlow:
      return fmt::format(
          "an item takes about {} and arrives every {}: {} times too slow; an interval of {} would "
          "keep up",
          about, every, ratio_text(latency_ms / interval_ms), longest);
    case StreamOutlook::Tight:
      return fmt::format(
          "an item takes about {}, perhaps {}, and arrives every {}; an interval of {} would keep "
          "up",
          about, longest, every, longest);
    default:
      return fmt::format(
          "an item takes about {}, perhaps {}, and arrives every {}: {} times as "
          "fast as needed",
          about, longest, every, ratio_text(interval_ms / latency_ms));
  }
}

std::int64_t uncounted_operators(const HardwareProfile& profile) {
  return std::ranges::count_if(profile.operator_profile, [](const OperatorProfile& row) {
    return !row.latency_ms.has_value();
  });
}

}  // namespace

StreamForecast forecast_of(const HardwareProfile& profile, const Calibration* calibration) {
  const double latency_ms = profile.totals.latency_ms;
  const double interval_ms = profile.stream_interval_ms;
  StreamForecast forecast{.is_calibrated = calibration != nullptr};
  if (calibration != nullptr) {
    const double wide = 1 + calibration->wide_error();
    forecast.latency_low_ms = latency_ms / wide;
    forecast.latency_high_ms = latency_ms * wide;
  }
  forecast.outlook = outlook_of(forecast, latency_ms, interval_ms);
  forecast.reason = forecast.is_calibrated ? estimate_text(forecast, latency_ms, interval_ms)
                                           : at_least_text(latency_ms, interval_ms);
  const std::int64_t uncounted = uncounted_operators(profile);
  if (uncounted > 0 && forecast.outlook != StreamOutlook::TooSlow) {
    forecast.outlook = StreamOutlook::Unknown;
    forecast.reason = fmt::format("the cost of {} operator{} is not known; measure it", uncounted,
                                  uncounted == 1 ? "" : "s");
  }
  return forecast;
}

}  // namespace profile

}  // namespace assay
