#include "profile/stream/sentences.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace assay::profile {

namespace {

// The nearest level that keeps `bytes` from one run to the next; memory keeps everything.
std::size_t level_that_fits(double bytes, const Roofline& roofline) {
  const auto holds = [&](const MemoryRoof& roof) {
    return roof.bytes == 0 || static_cast<double>(roof.bytes) >= bytes;
  };
  const auto found = std::ranges::find_if(roofline.levels, holds);
  return static_cast<std::size_t>(found - roofline.levels.begin());
}

bool is_memory(std::size_t level, const Roofline& roofline) {
  return level + 1 >= roofline.levels.size();
}

std::string level_name(std::size_t level, const Roofline& roofline) {
  return is_memory(level, roofline) ? "memory" : roofline.levels[level].level;
}

// Two significant digits, or all before the decimal point: "5.3", "613".
std::string two_digits(double number) {
  return number < 10 ? fmt::format("{:.2g}", number) : fmt::format("{:.0f}", number);
}

// "0.03 %", "12 %", "230 %"
std::string percent(double share) {
  return share < 0.0001 ? "less than 0.01 %" : two_digits(100 * share) + " %";
}

std::string threads_text(const Roofline& roofline) {
  return fmt::format("{} {}", roofline.threads, roofline.threads == 1 ? "thread" : "threads");
}

// "L1 (96.0 KiB on 2 threads)"
std::string sized(const MemoryRoof& roof, const Roofline& roofline) {
  return fmt::format("{} ({} on {})", roof.level, with_binary_unit(static_cast<double>(roof.bytes)),
                     threads_text(roofline));
}

double share_of(double bytes, const MemoryRoof& roof) {
  return bytes / static_cast<double>(std::max<std::int64_t>(1, roof.bytes));
}

std::string where_it_stays(double bytes, const Roofline& roofline) {
  const std::size_t level = level_that_fits(bytes, roofline);
  const MemoryRoof& roof = roofline.levels[level];
  if (level == 0 && !is_memory(level, roofline)) {
    return fmt::format("stays in {}, {} of it: it may grow {} times before it no longer fits",
                       sized(roof, roofline), percent(share_of(bytes, roof)),
                       two_digits(1 / share_of(bytes, roof)));
  }
  if (level == 0) return fmt::format("comes from memory, at {:.3g} GB/s", roof.read_gbps);
  const MemoryRoof& nearer = roofline.levels[level - 1];
  const std::string times =
      fmt::format("is {} times {}", two_digits(share_of(bytes, nearer)), sized(nearer, roofline));
  if (is_memory(level, roofline)) {
    return fmt::format("{}: {} of it comes from memory again for every item, at {:.3g} GB/s", times,
                       percent(1 - 1 / share_of(bytes, nearer)), roof.read_gbps);
  }
  return fmt::format("{}, {} of {}: what the nearer cache cannot keep comes at {:.3g} GB/s", times,
                     percent(share_of(bytes, roof)), sized(roof, roofline), roof.read_gbps);
}

// What other work between two items may cost: everything is read from memory again.
std::string when_pushed_out(const HardwareProfile& profile) {
  const double bytes = run_bytes(profile);
  if (is_memory(level_that_fits(bytes, profile.roofline), profile.roofline)) return "";
  const double cold_ms = bytes / profile.roofline.levels.back().read_gbps / 1e6;
  return fmt::format(
      " If other work between two items evicts it, reading it from memory again takes {}, {} "
      "of the interval.",
      duration_text(cold_ms), percent(cold_ms / profile.stream_interval_ms));
}

// What operators are bound by, and how long they take together, without starting them.
struct BoundTimes {
  double compute_ms = 0;
  double memory_ms = 0;
};

BoundTimes bound_times(const HardwareProfile& profile) {
  BoundTimes times;
  for (const OperatorProfile& row : profile.operator_profile) {
    const double least_ms = row.latency_ms.value_or(0) - profile.roofline.step_overhead_ms;
    if (row.bound == Bound::Compute) times.compute_ms += least_ms;
    if (row.bound == Bound::Memory) times.memory_ms += least_ms;
  }
  return times;
}

const OperatorProfile& slowest_with(Bound bound, const HardwareProfile& profile) {
  const auto latency = [&](const OperatorProfile& row) {
    return row.bound == bound ? row.latency_ms.value_or(0) : -1;
  };
  return *std::ranges::max_element(profile.operator_profile, {}, latency);
}

std::string overhead_text(const HardwareProfile& profile) {
  const StreamTotals& totals = profile.totals;
  const auto is_priced = [](const OperatorProfile& row) { return row.latency_ms.has_value(); };
  const double rest_ms = totals.latency_ms - totals.overhead_ms;
  constexpr double kNothing = 1e-6;  // a nanosecond
  return fmt::format(
      "Overhead: starting {} steps takes {} of {}, arithmetic and bytes {}. Fewer steps, or more "
      "samples at once, would use the machine better.",
      std::ranges::count_if(profile.operator_profile, is_priced), duration_text(totals.overhead_ms),
      duration_text(totals.latency_ms),
      rest_ms < kNothing ? "next to nothing" : "only " + duration_text(rest_ms));
}

// "1.500 ms of 2.104 ms; the longest is fc1, 61 % of all"
std::string share_text(double bound_ms, const OperatorProfile& row,
                       const HardwareProfile& profile) {
  const double all_ms = profile.totals.latency_ms;
  return fmt::format("{} of {}; the longest is {}, {} of all", duration_text(bound_ms),
                     duration_text(all_ms), row.operator_name, percent(*row.latency_ms / all_ms));
}

std::string memory_text(double memory_ms, const HardwareProfile& profile) {
  const OperatorProfile& row = slowest_with(Bound::Memory, profile);
  const auto roof = std::ranges::find(profile.roofline.levels, row.bound_level, &MemoryRoof::level);
  return fmt::format(
      "Memory bounds {}: it moves {}, at {:.3g} GB/s of {} at best. Lower precision or fewer "
      "weights shorten it{}.",
      share_text(memory_ms, row, profile), with_binary_unit(*row.memory_kb * 1024),
      roof->combined_gbps, row.bound_level,
      profile.batch == 1 ? "; several samples at once would read the weights once for all" : "");
}

std::string compute_text(double compute_ms, const HardwareProfile& profile) {
  const OperatorProfile& row = slowest_with(Bound::Compute, profile);
  return fmt::format(
      "Arithmetic bounds {}, at {:.4g} GFLOP/s at best on {}. Lower precision, fewer channels or "
      "more threads shorten it.",
      share_text(compute_ms, row, profile), profile.roofline.peak_gflops,
      threads_text(profile.roofline));
}

std::string pace_text(const HardwareProfile& profile) {
  const double ratio = profile.totals.stream_utilization_uncapped;
  if (ratio <= 1) return "";
  return fmt::format(" Items arrive {:.2g} times as fast as they can be done: {} apart at least.",
                     ratio, duration_text(profile.totals.latency_ms));
}

}  // namespace

double run_bytes(const HardwareProfile& profile) {
  return static_cast<double>(profile.stored_bytes) + static_cast<double>(profile.activation_bytes);
}

std::string precision_note(const HardwareProfile& profile) {
  const Roofline& roofline = profile.roofline;
  const double bytes = run_bytes(profile);
  const std::size_t now = level_that_fits(bytes, roofline);
  const std::size_t quarter = level_that_fits(bytes / 4, roofline);
  const std::string moved =
      now != quarter ? fmt::format("in int8 a run moves from {} into {}", level_name(now, roofline),
                                   level_name(quarter, roofline))
      : is_memory(now, roofline)
          ? "even in int8 no cache holds a run"
          : fmt::format("in int8 a run still stays in {}", level_name(now, roofline));
  return fmt::format(
      "Weights and activations alike at 2 bytes and at 1, scales and zero points left out; {} "
      "({} instead of {}). How much latency changes depends on the kernels there are for that "
      "precision and on the device it is deployed on.",
      moved, with_binary_unit(bytes / 4), with_binary_unit(bytes));
}

std::string cache_sentence(const HardwareProfile& profile) {
  const double bytes = run_bytes(profile);
  return fmt::format("A run touches {} ({} stored, {} of activations), which {}.{}",
                     with_binary_unit(bytes),
                     with_binary_unit(static_cast<double>(profile.stored_bytes)),
                     with_binary_unit(static_cast<double>(profile.activation_bytes)),
                     where_it_stays(bytes, profile.roofline), when_pushed_out(profile));
}

std::string bottleneck_sentence(const HardwareProfile& profile) {
  if (profile.totals.latency_ms <= 0) return "The cost of this model is unknown.";
  const auto [compute_ms, memory_ms] = bound_times(profile);
  const bool is_overhead = profile.totals.overhead_ms >= std::max(compute_ms, memory_ms);
  const std::string text = is_overhead               ? overhead_text(profile)
                           : compute_ms >= memory_ms ? compute_text(compute_ms, profile)
                                                     : memory_text(memory_ms, profile);
  return text + pace_text(profile);
}

}  // namespace assay::profile
