#include "report/profile_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"

namespace assay::report {

namespace {

// One sample has no interval; fewer than 6 have just a range.
std::string median_interval_text(const Measurement& measured, const TimeUnit& unit) {
  constexpr std::size_t kFewestForInterval = 6;
  const LatencySummary& latency = measured.latency;
  if (!latency.ci95_low_ms || !latency.ci95_high_ms) return "  no 95 % interval";
  const double low = *latency.ci95_low_ms;
  const double high = *latency.ci95_high_ms;
  const std::string range =
      fmt::format("{} to {} {}", time_in(unit, low), time_in(unit, high), unit.name);
  if (measured.samples_ms.size() < kFewestForInterval) {
    return fmt::format("  {}, too few samples for a 95 % interval", range);
  }
  return fmt::format("{}   95 % interval {}", interval_text(latency.median_ms, low, high), range);
}

std::string sample_text(const Measurement& measured) {
  const auto count = static_cast<std::int64_t>(measured.samples_ms.size());
  std::string text = with_thousands(count) + (count == 1 ? " sample" : " samples");
  if (measured.runs_per_sample > 1) text += fmt::format(" of {} runs", measured.runs_per_sample);
  return text;
}

}  // namespace

namespace {

bool has_numbers_of(const ProfileStep& step, std::string_view precision) {
  return step.info.precision == precision || step.info.storage == precision;
}

// What was asked for, and whether activations have it.
std::string precision_text(const Profile& profile) {
  const auto& precision = profile.program.precision;
  if (!precision) return "";
  std::string text = ", " + asked_precision(profile.program);
  const bool is_bf16 = *precision == DataType::BFloat16;
  if ((!is_bf16 && *precision != DataType::Float16) || !profile.program.only_where_faster)
    return text;
  const auto is_used = [&](const ProfileStep& step) {
    return has_numbers_of(step, is_bf16 ? "bf16" : "fp16");
  };
  if (std::ranges::none_of(profile.steps, is_used))
    text += " (activations in float32: faster here)";
  return text;
}

}  // namespace

namespace {

// What is known of another runtime's setting.
std::string imported_setting(const Profile& profile) {
  const ImportedFrom& from = *profile.imported;
  std::string text = fmt::format("batch {}, ", profile.batch);
  if (from.threads) {
    text += fmt::format("{} {}, ", *from.threads, *from.threads == 1 ? "thread" : "threads");
  }
  return text + from.runtime + ", not measured by assay";
}

}  // namespace

std::string source_text(const Profile& profile) {
  if (!profile.imported) return "";
  const ImportedFrom& from = *profile.imported;
  std::string text = fmt::format("{} profile {}", from.runtime, from.file);
  if (from.averaged_runs) {
    text += fmt::format(", means over {} runs",
                        with_thousands(static_cast<std::int64_t>(*from.averaged_runs)));
  } else if (from.is_average) {
    text += ", one time for each kernel";
  }
  if (!from.has_runs) text += "; a run is the sum of its kernels";
  if (profile.latency.warmup_runs > 0) text += "; the first run is left out as warm-up";
  return text;
}

std::string attribution_text(const Profile& profile) {
  if (!profile.imported) return "";
  const ImportedFrom& from = *profile.imported;
  const double all_ms = from.kernel_ms();
  if (all_ms <= 0) return "";
  const auto percent = [&](double part_ms) { return 100 * part_ms / all_ms; };
  std::string text = fmt::format(
      "{:.1f} % of kernel time belongs to nodes: {:.1f} % found by name, {:.1f} % by order and "
      "kind of op",
      percent(from.by_name_ms + from.by_position_ms), percent(from.by_name_ms),
      percent(from.by_position_ms));
  if (from.unattributed_kernels == 0) return text;
  return text + fmt::format("; not attributed: {} in {} of {} kernels, {:.1f} %",
                            duration_text(from.unattributed_ms), from.unattributed_kernels,
                            from.kernels, percent(from.unattributed_ms));
}

std::string setting_text(const Profile& profile) {
  if (profile.imported) return imported_setting(profile);
  const CpuOptions& cpu = profile.program.cpu;
  const bool is_unpinned = cpu.threads > 0 && !cpu.pin_threads;
  return fmt::format("batch {}, {}{}, {} engine for {}{}", profile.batch, team_text(cpu.threads),
                     is_unpinned ? " not pinned" : "", profile.program.engine,
                     name(profile.program.optimize_for), precision_text(profile));
}

std::string latency_text(const Measurement& measured) {
  const LatencySummary& latency = measured.latency;
  const TimeUnit unit = time_unit(latency.median_ms);
  return fmt::format("{} {} {}, {}", time_in(unit, latency.median_ms), unit.name,
                     median_interval_text(measured, unit), sample_text(measured));
}

std::string spread_text(const LatencySummary& latency) {
  const TimeUnit unit = time_unit(latency.median_ms);
  std::string text = "min " + time_in(unit, latency.min_ms);
  const auto add = [&](const char* what, const std::optional<double>& milliseconds) {
    if (milliseconds) text += fmt::format(", {} {}", what, time_in(unit, *milliseconds));
  };
  add("mean", latency.mean_ms);
  add("p90", latency.p90_ms);
  add("p95", latency.p95_ms);
  add("p99", latency.p99_ms);
  add("max", latency.max_ms);
  return text + " " + unit.name;
}

std::string verdict_text(const Measurement& measured) {
  std::vector<std::string> reasons;
  for (const auto& warning : measured.warnings) reasons.push_back(warning.name);
  std::vector<std::string> parts;
  if (!reasons.empty()) parts.push_back(join(reasons, ", "));
  if (!measured.unmet.empty()) parts.push_back(measured.unmet);
  if (measured.cancelled) parts.emplace_back("interrupted");
  const std::string why = parts.empty() ? "" : "   " + join(parts, "; ");
  return std::string(name(measured.verdict)) + why;
}

std::string verdict_names(const Measurement& measured) {
  std::vector<std::string> reasons;
  for (const auto& warning : measured.warnings) reasons.push_back(warning.name);
  if (reasons.empty() && !measured.unmet.empty()) reasons.push_back(measured.unmet);
  if (measured.cancelled) reasons.emplace_back("interrupted");
  return fmt::format("{}{}{}", name(measured.verdict), reasons.empty() ? "" : "   ",
                     join(reasons, ", "));
}

std::string throughput_text(const Profile& profile) {
  return fmt::format("{} samples/s", rate_text(profile.throughput_sps));
}

std::string start_up_text(const StartUp& start_up) {
  const std::string read =
      start_up.read_ms ? fmt::format("read {}, ", duration_text(*start_up.read_ms)) : "";
  return fmt::format("{}infer {}, compile {}, first run {}", read, duration_text(start_up.infer_ms),
                     duration_text(start_up.compile_ms), duration_text(start_up.first_run_ms));
}

std::string copies_text(const Profile& profile) {
  if (!profile.copies) return "";
  return fmt::format("inputs in {}, outputs out {}: not part of the latency",
                     duration_text(profile.copies->in_ms), duration_text(profile.copies->out_ms));
}

std::string gpu_state_text(const Profile& profile) {
  if (!profile.gpu_state) return "";
  const GpuState& state = *profile.gpu_state;
  std::vector<std::string> parts;
  if (state.clock_mhz && state.top_clock_mhz)
    parts.push_back(fmt::format("{} of {} MHz", *state.clock_mhz, *state.top_clock_mhz));
  if (state.memory_clock_mhz)
    parts.push_back(fmt::format("memory {} MHz", *state.memory_clock_mhz));
  if (state.watts) parts.push_back(fmt::format("{:.0f} W", *state.watts));
  if (state.celsius) parts.push_back(fmt::format("{} °C", *state.celsius));
  return join(parts, ", ");
}

std::string ceiling_text(const Profile& profile) {
  const double median_ms = profile.latency.latency.median_ms;
  if (!profile.bottleneck || !profile.computational_efficiency || median_ms <= 0) return "";
  return fmt::format(
      "{}   arithmetic at {:.0f} % of {} GFLOP/s; {:.0f} % of the ceiling, {} potential saving",
      name(*profile.bottleneck), 100 * *profile.computational_efficiency,
      rate_text(profile.peak_gflops.value_or(profile.roofline->peak_gflops)),
      profile.percent_of_ceiling.value_or(0), duration_text(profile.headroom_ms.value_or(0)));
}

std::string fell_back_text(const Profile& profile) {
  std::map<std::string, std::pair<int, double>> ops;
  for (const ProfileStep& step : profile.steps) {
    if (step.info.fell_back.empty()) continue;
    ++ops[step.info.op].first;
    ops[step.info.op].second += step.share;
  }
  if (ops.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [op, seen] : ops) {
    parts.push_back(fmt::format("{} ({}, {:.1f}%)", without_control_characters(op), seen.first,
                                100.0 * seen.second));
  }
  return wrapped("Fell back to the plain reference kernel: " + join(parts, ", ") + ".");
}

}  // namespace assay::report
