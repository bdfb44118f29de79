#include <fmt/core.h>

#include <algorithm>

#include "assay/stream_report.h"
#include "report/display_names.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string kib_text(double kilobytes) {
  return with_binary_unit(kilobytes * 1024);
}

// "3.2 %", "0.019 %"
std::string share_text(double share) {
  return share > 0 && share < 0.001 ? fmt::format("{:.2g} %", 100 * share)
                                    : fmt::format("{:.1f} %", 100 * share);
}

// --- the estimate

std::string setting_text(const HardwareProfile& profile) {
  return fmt::format(
      "{} every {}, {} {}",
      profile.batch == 1 ? "one sample" : fmt::format("{} samples", with_thousands(profile.batch)),
      duration_text(profile.stream_interval_ms), profile.roofline.threads,
      profile.roofline.threads == 1 ? "thread" : "threads");
}

std::string latency_text(const HardwareProfile& profile) {
  const StreamForecast& forecast = profile.forecast;
  const std::string starting =
      duration_text(profile.totals.overhead_ms) + " of it to start operators";
  const std::string latency = duration_text(profile.totals.latency_ms);
  if (!forecast.is_calibrated) return fmt::format("at least {}, {}", latency, starting);
  return fmt::format("about {} (likely {} to {}), {}", latency,
                     duration_text(*forecast.latency_low_ms),
                     duration_text(*forecast.latency_high_ms), starting);
}

std::string utilization_text(const HardwareProfile& profile) {
  const StreamTotals& totals = profile.totals;
  const std::string at_least = profile.forecast.is_calibrated ? "" : "at least ";
  if (totals.stream_utilization_uncapped <= 1) {
    return at_least + share_text(totals.stream_utilization) + " of the interval";
  }
  return fmt::format("100 % of the interval; {}{:.3g} times as long is needed", at_least,
                     totals.stream_utilization_uncapped);
}

std::string memory_text(const StreamTotals& totals) {
  return fmt::format("{} moved, {} MiB/s", kib_text(totals.memory_kb),
                     rate_text(totals.estimated_bandwidth_mb_s));
}

std::string precision_text(const PrecisionTradeoffs& tradeoffs) {
  return fmt::format("fp32 {}, fp16 {}, int8 {}", kib_text(tradeoffs.fp32_memory_kb),
                     kib_text(tradeoffs.fp16_memory_kb), kib_text(tradeoffs.int8_memory_kb));
}

std::string summary(const HardwareProfile& profile, const DisplayNames& names) {
  return labelled("setting", setting_text(profile)) + labelled("latency", latency_text(profile)) +
         labelled("verdict",
                  fmt::format("{}   {}", name(profile.forecast.outlook), profile.forecast.reason)) +
         labelled("busy", utilization_text(profile)) +
         labelled("memory", memory_text(profile.totals)) +
         labelled("precision", precision_text(profile.precision_tradeoffs)) +
         labelled("", profile.precision_tradeoffs.note) +
         labelled("cache", profile.edge_constraints.cache_sensitivity) +
         labelled("bottleneck", names.in_text(profile.edge_constraints.bottleneck));
}

// --- the table of operators

std::string bound_text(const OperatorProfile& row) {
  if (!row.bound) return "not counted";
  return row.bound_level.empty() ? std::string(name(*row.bound)) : row.bound_level;
}

std::string title_of(const OperatorProfile& row, const DisplayNames& names) {
  const std::string title = without_control_characters(names.in_text(row.operator_name));
  return row.fused.empty() ? title : fmt::format("{} +{}", title, row.fused.size());
}

double latency_of(const OperatorProfile* row) {
  return row->latency_ms.value_or(0);
}

// A few operators are shown in execution order; of many, only the slowest.
std::vector<const OperatorProfile*> shown_rows(const HardwareProfile& profile) {
  std::vector<const OperatorProfile*> rows;
  for (const OperatorProfile& row : profile.operator_profile) rows.push_back(&row);
  if (rows.size() > kRowsShown) {
    std::ranges::stable_sort(rows, std::ranges::greater{}, latency_of);
  }
  return rows;
}

class OperatorTable {
 public:
  explicit OperatorTable(const StreamTotals& totals)
      : totals_(totals),
        unit_(time_unit(totals.latency_ms)),
        table_({{.title = "operator", .shrinks = true, .narrowest = 15},
                {.title = fmt::format("latency {}", unit_.name), .is_number = true},
                {.title = "share", .is_number = true},
                {.title = "memory", .is_number = true},
                {.title = "bound"}}) {}

  void add(const std::string& title, const std::optional<double>& latency_ms,
           const std::optional<double>& memory_kb, const std::string& bound) {
    const bool has_share = latency_ms && totals_.latency_ms > 0;
    table_.add_row({title, latency_ms ? time_in(unit_, *latency_ms) : "-",
                    has_share ? percent_text(*latency_ms / totals_.latency_ms) : "-",
                    memory_kb ? kib_text(*memory_kb) : "-", bound});
  }

  // The rest in one row.
  void add_hidden(std::span<const OperatorProfile* const> rows) {
    if (rows.empty()) return;
    double latency_ms = 0;
    double memory_kb = 0;
    for (const OperatorProfile* row : rows) {
      latency_ms += latency_of(row);
      memory_kb += row->memory_kb.value_or(0);
    }
    add(fmt::format("({} more)", rows.size()), latency_ms, memory_kb, "");
  }

  std::string finish(const Layout& layout) {
    table_.add_rule();
    add("total", totals_.latency_ms, totals_.memory_kb, "");
    return table_.render(layout);
  }

 private:
  const StreamTotals& totals_;
  TimeUnit unit_;
  TextTable table_;
};

std::string operators_table(const HardwareProfile& profile, const DisplayNames& names,
                            const Layout& layout) {
  const auto rows = shown_rows(profile);
  const std::size_t shown = std::min(rows.size(), kRowsShown);
  OperatorTable table(profile.totals);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add(title_of(*rows[i], names), rows[i]->latency_ms, rows[i]->memory_kb,
              bound_text(*rows[i]));
  }
  table.add_hidden(std::span(rows).subspan(shown));
  return table.finish(layout);
}

std::string basis(const HardwareProfile& profile) {
  const std::string starting = duration_text(profile.roofline.step_overhead_ms);
  if (profile.forecast.is_calibrated) {
    return fmt::format(
        "An estimate: each operator as efficient as those like it were when this machine was "
        "calibrated, and {} to start it.",
        starting);
  }
  return fmt::format(
      "A lower bound: the least time that this machine's measured ceilings allow, and {} to start "
      "each operator.",
      starting);
}

std::string convention(const HardwareProfile& profile) {
  const bool has_fused = std::ranges::any_of(
      profile.operator_profile, [](const OperatorProfile& row) { return !row.fused.empty(); });
  return wrapped(basis(profile) + " Memory is bytes read (including weights) and written." +
                 (has_fused ? " +1 is a layer computed along with the operator." : ""));
}

// --- what was measured

std::string items_text(const StreamMeasurement& measured) {
  std::string text = fmt::format("{} items arrived in {}, {} done",
                                 with_thousands(static_cast<std::int64_t>(measured.arrived)),
                                 duration_text(measured.elapsed_ms),
                                 with_thousands(static_cast<std::int64_t>(measured.items.size())));
  if (measured.largest_backlog > 0) {
    text += fmt::format("; {} waited at once",
                        with_thousands(static_cast<std::int64_t>(measured.largest_backlog)));
  }
  return text + (measured.cancelled ? "; interrupted" : "");
}

std::string deadlines_text(const StreamMeasurement& measured) {
  return fmt::format("{} of {} missed the deadline of {}, {}",
                     with_thousands(static_cast<std::int64_t>(measured.missed_deadlines)),
                     with_thousands(static_cast<std::int64_t>(measured.arrived)),
                     duration_text(measured.deadline_ms), share_text(measured.missed_share()));
}

std::string delays_table(const StreamMeasurement& measured, const Layout& layout) {
  const TimeUnit unit = time_unit(measured.response.median_ms);
  TextTable table({{.title = fmt::format("delay {}", unit.name)},
                   {.title = "mean", .is_number = true},
                   {.title = "median", .is_number = true},
                   {.title = "p90", .is_number = true},
                   {.title = "p95", .is_number = true},
                   {.title = "p99", .is_number = true},
                   {.title = "max", .is_number = true}});
  const auto add = [&](const char* title, const DelaySummary& delays) {
    const auto tail = [&](const std::optional<double>& time_ms) {
      return time_ms ? time_in(unit, *time_ms) : "-";
    };
    table.add_row({title, time_in(unit, delays.mean_ms), time_in(unit, delays.median_ms),
                   tail(delays.p90_ms), tail(delays.p95_ms), tail(delays.p99_ms),
                   time_in(unit, delays.max_ms)});
  };
  add("waiting", measured.queueing);
  add("service", measured.service);
  add("response", measured.response);
  return table.render(layout);
}

std::string busy_text(const StreamMeasurement& measured, const HardwareProfile& estimate) {
  std::string text = share_text(measured.utilization) + " of the time";
  if (estimate.totals.latency_ms <= 0) return text;
  return fmt::format("{}; an item typically takes {:.2g} times the {}", text,
                     measured.service.median_ms / estimate.totals.latency_ms,
                     estimate.forecast.is_calibrated ? "estimate" : "lower bound");
}

std::string measured_text(const std::optional<StreamMeasurement>& measured,
                          const HardwareProfile& estimate, const Layout& layout) {
  if (!measured) return "";
  return "\n" + labelled("measured", items_text(*measured)) +
         labelled("verdict", fmt::format("{}   {}", name(measured->verdict), measured->reason)) +
         labelled("busy", busy_text(*measured, estimate)) +
         labelled("deadlines", deadlines_text(*measured)) + "\n" + delays_table(*measured, layout);
}

std::string search_text(const std::optional<IntervalSearch>& search) {
  if (!search) return "";
  const std::string tries = fmt::format(
      "{} {} in {:.1f} s{}", search->probes.size(), search->probes.size() == 1 ? "try" : "tries",
      search->elapsed_seconds, search->cancelled ? ", interrupted" : "");
  if (!search->interval_ms) {
    return "\n" + labelled("shortest", "no sustainable interval was found: " + tries);
  }
  return "\n" +
         labelled(
             "shortest",
             fmt::format("{} between items is sustainable, {:.4g} items/s; {}, {}",
                         duration_text(*search->interval_ms), 1000 / *search->interval_ms, tries,
                         search->is_confirmed ? "confirmed by a longer one" : "not confirmed"));
}

std::string deployment_text(const std::optional<Deployment>& deployment) {
  if (!deployment) return "";
  return "\n" +
         labelled("batch", fmt::format("{} for {} samples at once, {} samples/s",
                                       duration_text(deployment->batch_latency_ms),
                                       with_thousands(deployment->batch),
                                       rate_text(deployment->batch_throughput_sps))) +
         labelled("one by one",
                  fmt::format("{} for each, {} samples/s; over {} {}{}",
                              duration_text(deployment->stream_avg_latency_ms),
                              rate_text(deployment->stream_throughput_sps), deployment->rounds,
                              deployment->rounds == 1 ? "round" : "rounds",
                              deployment->cancelled ? ", interrupted" : ""));
}

}  // namespace

std::string stream_table(const StreamReport& report, const Layout& layout) {
  const HardwareProfile& profile = report.profile;
  const DisplayNames names = operator_names(profile);
  return headline(profile.model) + "\n" + summary(profile, names) + "\n" +
         operators_table(profile, names, layout) + "\n" + convention(profile) +
         measured_text(report.streamed.measured, profile, layout) +
         search_text(report.streamed.search) + deployment_text(report.deployment);
}

}  // namespace assay
