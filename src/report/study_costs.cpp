// Reports of the studies about single costs: operations, measuring, decoding.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "report/study_parts.h"

namespace assay {

using namespace assay::report;

namespace {

StudyChart operation_chart(const OperationEfficiency& study) {
  StudyChart chart{
      .title = "operations by size", .x = {"size", true}, .y = {"GFLOP/s", true}, .series = {}};
  for (const OperationRow& row : study.rows) {
    auto series = std::ranges::find(chart.series, row.operation, &StudySeries::name);
    if (series == chart.series.end()) {
      chart.series.push_back({row.operation, {}});
      series = chart.series.end() - 1;
    }
    series->points.push_back({static_cast<double>(row.size), row.gflops_per_second});
  }
  return chart;
}

}  // namespace

StudyReport study_report(const OperationEfficiency& study) {
  StudyReport report{
      .study = "operations",
      .title = "Which operations use the machine well",
      .setting = {setting_line(study, {}),
                  "Size n: n×n matrices; attention of 8 heads of 64 over n tokens; 3×3 convolution "
                  "of 64 channels on n/8×n/8 pixels."},
      .facts = study,
      .columns = {{"operation", "operation"},
                  {"size", "size"},
                  {"latency_ms", "time", "ms"},
                  {"flops", "FLOPs", "", false},
                  {"gflops_per_second", "GFLOP/s"},
                  {"percent_of_ceiling", "ceiling", "%"},
                  {"percent_of_peak", "peak", "%", false},
                  {"speedup", "speed-up", "", false},
                  {"efficiency_class", "class"},
                  {"optimization_focus", "focus"}},
      .rows = {},
      .charts = {operation_chart(study)}};
  for (const OperationRow& row : study.rows) {
    report.rows.push_back({row.operation, row.size, row.latency_ms, row.flops,
                           row.gflops_per_second, optional_cell(row.percent_of_ceiling),
                           optional_cell(row.percent_of_peak), optional_cell(row.speedup),
                           row.efficiency_class, row.optimization_focus});
  }
  report.details = {{"order", study.order},
                    {"most_efficient", text_cell(study.most_efficient)},
                    {"least_efficient", text_cell(study.least_efficient)},
                    {"priority", study.priority}};
  return report;
}

StudyReport study_report(const ProfilingOverhead& study) {
  StudyReport report{
      .study = "overhead",
      .title = "What measuring costs",
      .setting = {setting_line(study, {})},
      .facts = study,
      .columns = {{"mode", "mode"},
                  {"latency_ms", "latency", "ms"},
                  {"overhead_ms", "overhead", "ms"},
                  {"overhead_factor", "factor"},
                  {"overhead_class", "class"},
                  {"use", "when to use it"}},
      .rows = {},
      .charts = {{.title = "overhead of measuring",
                  .kind = StudyChart::Kind::Bar,
                  .x = {"mode"},
                  .y = {"factor over the bare run"},
                  .series = {series_of(
                      "factor", study.rows, [](const OverheadRow& row) { return row.mode; },
                      [](const OverheadRow& row) { return row.overhead_factor; })}}}};
  for (const OverheadRow& row : study.rows) {
    report.rows.push_back({row.mode, row.latency_ms, row.overhead_ms, row.overhead_factor,
                           row.overhead_class, row.use});
  }
  report.details = {{"overhead_factor", StudyCell(study.overhead_factor)},
                    {"overhead_class", text_cell(study.overhead_class)}};
  return report;
}

namespace {

StudyCell percent_of(const std::optional<double>& share) {
  return share ? StudyCell(100 * *share) : StudyCell();
}

std::vector<StudyChart> decoding_charts(const DecodingComparison& study) {
  StudyChart tokens{.title = "time of each token",
                    .x = {"tokens before it", false},
                    .y = {"latency, ms", true},
                    .series = {}};
  for (const DecodingRow& row : study.rows) {
    StudySeries series{row.mode, {}};
    for (std::size_t i = 0; i < row.tokens_ms.size(); ++i) {
      series.points.push_back({static_cast<double>(study.prompt + i + 1), row.tokens_ms[i]});
    }
    tokens.series.push_back(std::move(series));
  }
  StudyChart rates{.title = "tokens per second",
                   .kind = StudyChart::Kind::Bar,
                   .x = {"mode"},
                   .y = {"tokens/s"},
                   .series = {series_of(
                       "tokens/s", study.rows, [](const DecodingRow& row) { return row.mode; },
                       [](const DecodingRow& row) { return row.tokens_per_second; })}};
  return {tokens, rates};
}

}  // namespace

StudyReport study_report(const DecodingComparison& study) {
  StudyReport report{
      .study = "decode",
      .title = "Decoding without and with a cache of keys and values",
      .setting = {setting_line(study, 1),
                  fmt::format("{} tokens after a prompt of {}", study.tokens, study.prompt)},
      .facts = study,
      .columns = {{"mode", "mode"},
                  {"tokens_per_second", "tokens/s"},
                  {"time_to_first_token_ms", "first", "ms"},
                  {"latency_ms", "token", "ms"},
                  {"macs_per_token", "MACs"},
                  {"percent_of_ceiling", "ceiling", "%", false},
                  {"attention_share_macs", "attention", "%"},
                  {"attention_share_time", "of time", "%", false},
                  {"weights_mb", "weights", "MB", false},
                  {"cache_mb", "cache", "MB"}},
      .rows = {},
      .charts = decoding_charts(study)};
  for (const DecodingRow& row : study.rows) {
    report.rows.push_back({row.mode, row.tokens_per_second, row.time_to_first_token_ms,
                           row.latency_ms, row.macs_per_token, percent_of(row.ceiling_share),
                           percent_of(row.attention_share_macs),
                           percent_of(row.attention_share_time), row.weights_mb, row.cache_mb});
  }
  report.details = {{"tokens", StudyCell(static_cast<std::int64_t>(study.tokens))},
                    {"prompt", StudyCell(static_cast<std::int64_t>(study.prompt))},
                    {"recomputed_macs", StudyCell(study.recomputed_macs)},
                    {"recomputed_share", StudyCell(study.recomputed_share)},
                    {"predicted_speedup_macs", StudyCell(study.predicted_speedup_macs)},
                    {"predicted_speedup", optional_cell(study.predicted_speedup)},
                    {"measured_speedup", StudyCell(study.measured_speedup)},
                    {"memory_per_token_kb", StudyCell(study.memory_per_token_kb)},
                    {"bound_without_cache", bound_cell(study.bound_without)},
                    {"bound_with_cache", bound_cell(study.bound_with)},
                    {"same_tokens", StudyCell(study.same_tokens)}};
  return report;
}

}  // namespace assay
