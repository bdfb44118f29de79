#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/sweep_parts.h"
#include "report/sweep_words.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::size_t kFailuresShown = 5;

double half_of(double low, double high) {
  return (high - low) / 2;
}

std::string with_half(double number, double low, double high, int decimals) {
  return fmt::format("{:.{}f} ±{:.{}f}", number, decimals, half_of(low, high), decimals);
}

// Three digits, in columns too.
std::string megabytes_text(double megabytes) {
  return megabytes < 0.9995 ? fmt::format("{:#.3g}", megabytes) : rate_text(megabytes);
}

// --- the lines above the table

std::string sizes_text(const SweepRun& run) {
  const SweepConfig& config = run.config;
  std::vector<std::string> levels;
  for (const double level : config.pruning_levels) levels.push_back(fmt::format("{:g}", level));
  return fmt::format("{}: pruned by {}; {}", run.rows.size(), join(levels, ", "),
                     join(config.precisions, ", "));
}

std::string accuracy_words(const PerfMetrics& metrics) {
  return fmt::format("{:.2f} % accuracy ({:.2f} to {:.2f})", 100 * metrics.accuracy,
                     100 * metrics.accuracy_ci95_low, 100 * metrics.accuracy_ci95_high);
}

std::string swept_baseline_text(const SweepRun& run) {
  if (!run.baseline) return "not measured";
  if (!run.baseline->metrics) return "failed: " + run.baseline->error;
  const PerfMetrics& metrics = *run.baseline->metrics;
  return fmt::format(
      "{}, {} ({} to {}), {} MB stored", accuracy_words(metrics), duration_text(metrics.latency_ms),
      duration_text(std::max(0.0, metrics.latency_ci95_low_ms)),
      duration_text(metrics.latency_ci95_high_ms), megabytes_text(metrics.memory_mb));
}

std::string budgets_text(const SweepConfig& config) {
  std::string text = fmt::format("{:g} MB stored", config.active_memory_budget_mb);
  if (config.latency_budget_ms) text += fmt::format(", {:g} ms", *config.latency_budget_ms);
  return text + fmt::format(", at most {:g} {} of accuracy lost", config.max_accuracy_loss,
                            config.max_accuracy_loss == 1 ? "point" : "points");
}

std::string latencies_text(const SweepConfig& config) {
  if (config.cpu_frequency_scale == 1) return "";
  return fmt::format("× {:.4g}, for a processor at {:g} of this one's frequency",
                     config.latency_multiplier(), config.cpu_frequency_scale);
}

std::string above_table(const SweepRun& run) {
  return wrapped(without_control_characters(swept_text(run))) +
         labelled("versions", sizes_text(run)) + labelled("baseline", swept_baseline_text(run)) +
         labelled("budgets", budgets_text(run.config)) +
         labelled("latencies", latencies_text(run.config)) + "\n";
}

// --- the table

// All rows, or of many the frontier, the recommended one and the most accurate accepted ones.
std::vector<std::size_t> shown_rows(const SweepRun& run) {
  std::vector<std::size_t> order(run.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() <= kRowsShown) return order;
  const auto rank = [&](std::size_t i) {
    return is_accepted(run.rows[i]) ? run.rows[i].metrics->accuracy : -1;
  };
  std::ranges::stable_sort(order, std::greater<>{}, rank);
  order.resize(kRowsShown);
  const auto add = [&](std::size_t row) {
    if (std::ranges::count(order, row) == 0) order.push_back(row);
  };
  const std::size_t of_frontier = std::min(run.latency_frontier.size(), kRowsShown);
  std::for_each_n(run.latency_frontier.begin(), of_frontier, add);
  if (run.decision.recommended) add(*run.decision.recommended);
  if (run.decision.runner_up) add(*run.decision.runner_up);
  std::ranges::sort(order);
  return order;
}

// One unit and one number of decimals for the whole column.
struct LatencyColumn {
  TimeUnit unit = {};
  int decimals = 3;

  explicit LatencyColumn(const SweepRun& run) {
    double largest = 0;
    for (const SweepRow& row : run.rows) {
      if (row.metrics) largest = std::max(largest, row.metrics->latency_ms);
    }
    unit = time_unit(largest);
    const double number = largest / unit.milliseconds;
    decimals = number < 10 ? 3 : number < 100 ? 2 : number < 1000 ? 1 : 0;
  }
  std::string text(const PerfMetrics& metrics, bool has_interval) const {
    const double scale = 1 / unit.milliseconds;
    if (!has_interval) return fmt::format("{:.{}f}", scale * metrics.latency_ms, decimals);
    return with_half(scale * metrics.latency_ms, scale * metrics.latency_ci95_low_ms,
                     scale * metrics.latency_ci95_high_ms, decimals);
  }
};

// Further columns take the space of intervals.
class VersionTable {
 public:
  explicit VersionTable(const SweepRun& run)
      : run_(run),
        latency_(run),
        varying_(varying_settings(run.rows)),
        outcomes_(outcomes_of(run)) {}

  std::string render(const Layout& layout) const {
    TextTable table(columns());
    for (const std::size_t index : shown_rows(run_)) table.add_row(cells(index));
    return table.render(layout);
  }

 private:
  bool has_latency_interval() const { return !varying_.batch_size && !varying_.threads; }
  bool has_ratio_interval() const { return !varying_.batch_size || !varying_.threads; }

  std::vector<TextColumn> columns() const {
    std::vector<TextColumn> columns = {{.title = "pruned"}, {.title = "as"}};
    if (varying_.batch_size) columns.push_back({.title = "batch", .is_number = true});
    if (varying_.threads) columns.push_back({.title = "threads", .is_number = true});
    columns.push_back({.title = "accuracy, %", .is_number = true});
    const std::string unit = latency_.unit.name;
    columns.push_back(
        {.title = has_latency_interval() ? "latency, " + unit : unit, .is_number = true});
    columns.push_back({.title = has_ratio_interval() ? "of baseline" : "ratio", .is_number = true});
    columns.push_back({.title = "MB", .is_number = true});
    columns.push_back({.title = "", .shrinks = true, .narrowest = 8});
    return columns;
  }

  std::vector<std::string> cells(std::size_t index) const {
    const SweepRow& row = run_.rows[index];
    std::vector<std::string> cells = {fmt::format("{:g}", row.pruning_level),
                                      without_control_characters(row.precision)};
    if (varying_.batch_size) cells.push_back(std::to_string(row.batch_size));
    if (varying_.threads) cells.push_back(std::to_string(row.threads));
    if (!row.metrics) {
      cells.insert(cells.end(), {"-", "-", "-", "-"});
    } else {
      const PerfMetrics& metrics = *row.metrics;
      cells.push_back(with_half(100 * metrics.accuracy, 100 * metrics.accuracy_ci95_low,
                                100 * metrics.accuracy_ci95_high, 2));
      cells.push_back(latency_.text(metrics, has_latency_interval()));
      cells.push_back(ratio_text(row));
      cells.push_back(megabytes_text(metrics.memory_mb));
    }
    cells.push_back(outcomes_[index] + frontier_mark(index));
    return cells;
  }

  std::string ratio_text(const SweepRow& row) const {
    if (!row.latency_vs_baseline) return "-";
    const LatencyRatio& ratio = *row.latency_vs_baseline;
    return has_ratio_interval() ? with_half(ratio.ratio, ratio.ci95_low, ratio.ci95_high, 3)
                                : fmt::format("{:.3f}", ratio.ratio);
  }

  std::string frontier_mark(std::size_t index) const {
    return std::ranges::count(run_.latency_frontier, index) > 0 ? " *" : "";
  }

  const SweepRun& run_;
  LatencyColumn latency_;
  VaryingSettings varying_;
  std::vector<std::string> outcomes_;
};

std::string below_table(const SweepRun& run) {
  std::string text;
  const std::size_t hidden = run.rows.size() - shown_rows(run).size();
  if (hidden > 0) text += fmt::format("… and {} more in sweep_results.csv\n", hidden);
  return text + wrapped("± half of the 95 % interval; * on the frontier of accuracy and latency") +
         "\n";
}

// --- the decision

std::string recommended_text(const SweepRun& run) {
  const SweepDecision& decision = run.decision;
  if (!decision.recommended) return "nothing: " + decision.reason;
  const SweepRow& row = run.rows.at(*decision.recommended);
  std::string text = describe(row);
  const VaryingSettings varying = varying_settings(run.rows);
  if (varying.batch_size) text += fmt::format(", batch {}", row.batch_size);
  if (varying.threads) {
    text += ", " + plural_of(static_cast<std::size_t>(row.threads), "thread");
  }
  return text + ": " + decision.reason;
}

// "1 failed, 3 too large, 5 slower"
std::string rejected_text(const SweepRun& run) {
  std::map<Rejection, std::size_t> counts;
  for (const RejectedRow& rejected : run.decision.rejected) ++counts[rejected.kind];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, rejection_word(kind)));
  }
  return join(parts, ", ");
}

std::string failure_lines(const SweepRun& run) {
  std::string text;
  std::size_t failed = 0;
  for (const SweepRow& row : run.rows) {
    if (!has_failed(row) || ++failed > kFailuresShown) continue;
    text += labelled("failed", fmt::format("{}: {}", describe(row), row.error));
  }
  if (failed > kFailuresShown) {
    text += labelled("", fmt::format("… and {} more in sweep_errors.csv", failed - kFailuresShown));
  }
  return text;
}

std::string missing_text(const SweepRun& run) {
  if (run.missing == 0) return "";
  return fmt::format("{} not measured yet; the same command continues",
                     plural_of(run.missing, "version"));
}

}  // namespace

std::string sweep_table(const SweepRun& run, const Layout& layout) {
  std::string text = above_table(run);
  if (!run.rows.empty()) text += VersionTable(run).render(layout) + below_table(run);
  text += labelled("recommended", recommended_text(run)) +
          labelled("runner-up", run.decision.runner_up_note) +
          labelled("model", run.recommended_file) + labelled("others", rejected_text(run)) +
          failure_lines(run) + labelled("missing", missing_text(run));
  for (const std::string& warning : run.warnings) text += labelled("warning", warning);
  return text;
}

}  // namespace assay
