#include <fmt/core.h>

#include <cmath>

#include <fmt/core.h>

#include "assay/hardware_report.h"
#include "base/text.h"
#include "report/compare_impact.h"
#include "report/compare_words.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/optimize_rows.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string mb_text(double megabytes) {
  return any_rate_text(megabytes) + " MB";
}

std::string as_percentage(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

std::string snr_text(const VariantQuality& quality) {
  if (!quality.is_meaningful) return "-";
  return quality.snr_db ? fmt::format("{:.1f} dB", *quality.snr_db) : "equal";
}

std::string points_text(const std::optional<double>& points) {
  return points ? fmt::format("{:+.2f}", *points == 0 ? 0.0 : -*points) : "-";
}

std::string change_of(double before, double after) {
  if (!(before > 0)) return "-";
  return fmt::format("{:+.1f}%", 100 * (after / before - 1));
}

bool has_labels(const OptimizeReport& report) {
  const auto& quality = report.result.original.quality;
  return quality && quality->accuracy;
}

std::string judged_share(const VariantQuality& quality) {
  return as_percentage(quality.accuracy ? quality.accuracy->value : quality.agreement);
}

// --- what was tried

std::vector<std::string> trial_cells(const OptimizeReport& report, const OptimizeTrial& trial) {
  const std::string outcome = trial_outcome(report, trial);
  if (!trial.cost) return {describe(trial.recipe), "-", "-", "-", "-", "-", outcome};
  const bool is_judged = trial.quality.has_value();
  return {describe(trial.recipe),
          duration_text(trial.cost->judged_ms()),
          mb_text(trial.cost->memory_mb),
          is_judged ? judged_share(*trial.quality) : "-",
          points_text(trial.loss_points),
          is_judged ? snr_text(*trial.quality) : "-",
          outcome};
}

std::string trail_table(const OptimizeReport& report, const Layout& layout) {
  TextTable table({{.title = "version", .shrinks = true, .narrowest = 12},
                   {.title = report.device.empty() ? "latency" : "there", .is_number = true},
                   {.title = "stored", .is_number = true},
                   {.title = has_labels(report) ? "accuracy" : "agreement", .is_number = true},
                   {.title = "points", .is_number = true},
                   {.title = "SNR", .is_number = true},
                   {.title = ""}});
  for (const OptimizeTrial& trial : all_versions(report)) {
    table.add_row(trial_cells(report, trial));
  }
  return table.render(layout);
}

std::string failures(const OptimizeReport& report) {
  std::string text;
  for (const OptimizeTrial& trial : report.result.trail) {
    if (trial.error.empty()) continue;
    text += wrapped(fmt::format("{} failed: {}", describe(trial.recipe),
                                without_control_characters(trial.error)));
  }
  return text;
}

// --- before and after

struct Versions {
  const OptimizeTrial& before;
  const OptimizeTrial& after;
  double before_ms = 0;
  double after_ms = 0;
};

void add_before_and_after(TextTable& table, const char* what, double before, double after,
                          const std::function<std::string(double)>& text) {
  table.add_row({what, text(before), text(after), change_of(before, after)});
}

void add_quality_rows(TextTable& table, const Versions& versions) {
  const VariantQuality& before = *versions.before.quality;
  const VariantQuality& after = *versions.after.quality;
  if (before.accuracy && after.accuracy) {
    table.add_row(
        {"accuracy", as_percentage(before.accuracy->value), as_percentage(after.accuracy->value),
         fmt::format("{:+.2f} points", 100 * (after.accuracy->value - before.accuracy->value))});
  }
  table.add_row({"agreement", as_percentage(1), as_percentage(after.agreement),
                 fmt::format("{:+.2f} points", 100 * (after.agreement - 1))});
  table.add_row({"SNR", "-", snr_text(after), ""});
}

std::string whole_text(double number) {
  return with_thousands(std::llround(number));
}

void add_device_row(TextTable& table, const Versions& versions) {
  const auto& before = versions.before.cost->on_device;
  const auto& after = versions.after.cost->on_device;
  if (!before || !after) return;
  add_before_and_after(table, "latency there", before->estimate_ms.value_or(0),
                       after->estimate_ms.value_or(0), duration_text);
}

void add_measured_energy(TextTable& table, const Versions& versions) {
  const auto& before = versions.before.cost->energy_measured_j;
  const auto& after = versions.after.cost->energy_measured_j;
  if (before && after)
    add_before_and_after(table, "energy, measured", *before, *after, joules_text);
}

std::string before_after_table(const OptimizeReport& report, const Versions& versions,
                               const Layout& layout) {
  const VariantCost& before = *versions.before.cost;
  const VariantCost& after = *versions.after.cost;
  TextTable table({{.title = ""},
                   {.title = "before", .is_number = true},
                   {.title = "after", .is_number = true},
                   {.title = "change", .is_number = true}});
  const auto joules = [&](double ms) { return joules_text(report.power_watts * ms * 1e-3); };
  const bool is_for_device = before.on_device.has_value();
  add_before_and_after(table, is_for_device ? "latency here" : "latency", versions.before_ms,
                       versions.after_ms, duration_text);
  add_device_row(table, versions);
  add_before_and_after(table, "stored tensors", before.memory_mb, after.memory_mb, mb_text);
  add_before_and_after(table, "with activations", before.runtime_memory_mb, after.runtime_memory_mb,
                       mb_text);
  add_before_and_after(table, "parameters", static_cast<double>(before.parameters),
                       static_cast<double>(after.parameters), whole_text);
  add_before_and_after(table, "MACs", static_cast<double>(before.macs),
                       static_cast<double>(after.macs), with_si_suffix);
  add_measured_energy(table, versions);
  add_before_and_after(table, "energy, proxy", versions.before_ms, versions.after_ms, joules);
  if (versions.before.quality && versions.after.quality) add_quality_rows(table, versions);
  return table.render(layout);
}

Versions versions_of(const OptimizeReport& report) {
  const OptimizeResult& result = report.result;
  Versions versions{result.original, result.best()};
  versions.before_ms = result.original.cost->latency.median_ms;
  versions.after_ms = result.best().cost->latency.median_ms;
  if (report.comparison) {
    versions.before_ms = report.comparison->result.median_a;
    versions.after_ms = report.comparison->result.median_b;
  }
  return versions;
}

// --- lines around the tables

std::string latency_goal(const OptimizeReport& report) {
  std::string latency = duration_text(*report.goal.target_ms);
  if (!report.target_share) return latency;
  return fmt::format("{:g} % of the original's latency ({})", 100 * *report.target_share, latency);
}

std::string goal_text(const OptimizeReport& report) {
  std::vector<std::string> parts;
  const std::string where = report.device.empty() ? "" : " on " + report.device;
  if (report.goal.target_ms) parts.push_back(latency_goal(report) + where);
  if (report.goal.target_mb) parts.push_back(mb_text(*report.goal.target_mb) + " stored");
  if (report.goal.max_loss) {
    parts.push_back(
        fmt::format("{} {:g} {} of {} lost", parts.empty() ? "the fastest with at most" : "at most",
                    *report.goal.max_loss, *report.goal.max_loss == 1 ? "point" : "points",
                    has_labels(report) ? "accuracy" : "agreement"));
  }
  return join(parts, ", ");
}

std::string target_text(const OptimizeReport& report) {
  if (!report.goal.has_target() && !report.goal.max_loss) return "";
  if (report.result.interrupted) {
    return report.result.chosen ? "interrupted: this is the best version so far"
                                : "interrupted before any version was better";
  }
  if (!report.met) return "NOT MET: this is the best version found";
  return report.result.chosen ? "met" : "the model meets it as it is";
}

std::string written_text(const OptimizeReport& report) {
  if (report.written.path.empty()) return "nothing: no version is better than the original";
  return fmt::format("{} ({}), {}", report.written.path, binary_text(report.written.bytes),
                     report.written.record);
}

std::string verdict_line(const ModelComparison& comparison) {
  const ComparedNames names{.a = "the original", .b = "the new version"};
  return labelled("verdict",
                  fmt::format("{}   {}; {} pairs of fresh processes, run in turn",
                              name(comparison.result.verdict),
                              verdict_words(comparison.result, names), comparison.result.pairs));
}

std::string result_text(const OptimizeReport& report, const Layout& layout) {
  std::string text;
  const OptimizeTrial& best = report.result.best();
  if (report.result.chosen && best.cost) {
    text += "\n" + before_after_table(report, versions_of(report), layout);
  }
  if (report.comparison) {
    const auto impact = impact_of(*report.comparison);
    if (impact) text += "\n" + hardware_impact_table(*impact, layout);
    text += "\n" + verdict_line(*report.comparison);
  }
  return text;
}

std::string sensitivity_part(const OptimizeReport& report, const Layout& layout) {
  return report.sensitivities.empty() ? "" : sensitivity_table(report.sensitivities, layout) + "\n";
}

}  // namespace

std::string optimize_table(const OptimizeReport& report, const Layout& layout) {
  std::string text = headline(report.model) + "\n" + labelled("goal", goal_text(report)) +
                     labelled("judged on", report.judged_on) +
                     labelled("calibrated", report.calibrated_on) + "\n" +
                     sensitivity_part(report, layout) + trail_table(report, layout) +
                     failures(report) + result_text(report, layout);
  if (!report.comparison) text += "\n";
  for (const std::string& note : report.result.best().notes) text += labelled("note", note);
  return text + labelled("target", target_text(report)) +
         labelled("version", describe(report.result.best().recipe)) +
         labelled("written", written_text(report));
}

}  // namespace assay
