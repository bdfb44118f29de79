// Reports of the studies about sizes: models, batches, threads, precisions.
#include <fmt/core.h>

#include "base/text.h"
#include "report/study_parts.h"

namespace assay {

using namespace assay::report;

std::string report::setting_line(const Study& facts, std::optional<std::int64_t> batch) {
  std::vector<std::string> parts;
  if (facts.model) parts.push_back(without_control_characters(facts.model->name));
  if (batch) parts.push_back(fmt::format("batch {}", *batch));
  parts.push_back(facts.engine + " engine");
  if (facts.threads > 0) {
    parts.push_back(fmt::format("{} {}", facts.threads, facts.threads == 1 ? "thread" : "threads"));
  }
  return join(parts, ", ");
}

namespace {

StudyFields growth_fields(const ScalingGrowth& growth) {
  return {{"parameters", optional_cell(growth.parameters)},
          {"flops", optional_cell(growth.flops)},
          {"latency_ms", optional_cell(growth.latency)},
          {"memory_mb", optional_cell(growth.memory)},
          {"gflops_per_second", optional_cell(growth.efficiency)}};
}

std::vector<StudyFields> cache_fields(const std::vector<CacheEnd>& caches) {
  std::vector<StudyFields> list;
  for (const CacheEnd& end : caches) {
    list.push_back(
        {{"level", end.level}, {"bytes", end.bytes}, {"leaves_at", optional_cell(end.leaves_at)}});
  }
  return list;
}

double size_of(const ScalingRow& row) {
  return static_cast<double>(row.size);
}

std::vector<StudyChart> scaling_charts(const ModelScaling& study) {
  const auto relative = [&](std::string name, auto get) {
    const double first = static_cast<double>(get(study.rows.front()));
    return series_of(std::move(name), study.rows, size_of, [get, first](const ScalingRow& row) {
      return first > 0 ? static_cast<double>(get(row)) / first : 0;
    });
  };
  const StudyAxis x{study.parameter, true};
  StudyChart growth{.title = "growth with " + study.parameter,
                    .x = x,
                    .y = {"relative to the smallest", true},
                    .series = {}};
  growth.series.push_back(relative("FLOPs", [](const ScalingRow& row) { return row.flops; }));
  growth.series.push_back(
      relative("latency", [](const ScalingRow& row) { return row.latency_ms; }));
  growth.series.push_back(relative("memory", [](const ScalingRow& row) { return row.memory_mb; }));
  growth.series.push_back(
      relative("GFLOP/s", [](const ScalingRow& row) { return row.gflops_per_second; }));
  StudyChart latency{.title = "latency by " + study.parameter,
                     .x = x,
                     .y = {"latency, ms", true},
                     .series = {series_of("latency", study.rows, size_of,
                                          [](const ScalingRow& row) { return row.latency_ms; })}};
  return {growth, latency};
}

}  // namespace

StudyReport study_report(const ModelScaling& study) {
  StudyReport report{.study = "scaling",
                     .title = "How cost grows with " + study.parameter,
                     .setting = {setting_line(study, study.batch)},
                     .facts = study,
                     .columns = {{"size", study.parameter},
                                 {"parameters", "params"},
                                 {"flops", "FLOPs"},
                                 {"latency_ms", "latency", "ms"},
                                 {"memory_mb", "memory", "MB"},
                                 {"gflops_per_second", "GFLOP/s"},
                                 {"percent_of_ceiling", "ceiling", "%"},
                                 {"fits_in", "fits"},
                                 {"bound", "bound"}},
                     .rows = {},
                     .charts = scaling_charts(study)};
  for (const ScalingRow& row : study.rows) {
    report.rows.push_back({row.size, row.parameters, row.flops, row.latency_ms, row.memory_mb,
                           row.gflops_per_second, optional_cell(row.percent_of_ceiling),
                           text_cell(row.fits_in), bound_cell(row.bound)});
  }
  report.details = {{"parameter", StudyCell(study.parameter)},
                    {"batch", StudyCell(study.batch)},
                    {"growth_factors", growth_fields(study.growth_factors)},
                    {"exponents", growth_fields(study.exponents)},
                    {"caches", cache_fields(study.caches)},
                    {"limited_by", text_cell(study.limited_by)},
                    {"work_on", text_cell(study.work_on)}};
  return report;
}

namespace {

double batch_of(const BatchRow& row) {
  return static_cast<double>(row.batch_size);
}

std::vector<StudyChart> batch_charts(const BatchSizeEffects& study) {
  const StudyAxis x{"batch", true};
  return {{.title = "throughput by batch",
           .x = x,
           .y = {"samples/s", false},
           .series = {series_of("samples/s", study.rows, batch_of,
                                [](const BatchRow& row) { return row.samples_per_second; })}},
          {.title = "latency by batch",
           .x = x,
           .y = {"latency, ms", true},
           .series = {series_of("latency", study.rows, batch_of,
                                [](const BatchRow& row) { return row.latency_ms; })}},
          {.title = "memory by batch",
           .x = x,
           .y = {"memory, MB", true},
           .series = {series_of("memory", study.rows, batch_of,
                                [](const BatchRow& row) { return row.memory_mb; })}}};
}

}  // namespace

StudyReport study_report(const BatchSizeEffects& study) {
  StudyReport report{.study = "batch",
                     .title = "What a larger batch gives",
                     .setting = {setting_line(study, {})},
                     .facts = study,
                     .columns = {{"batch_size", "batch"},
                                 {"latency_ms", "latency", "ms"},
                                 {"samples_per_second", "samples/s"},
                                 {"memory_mb", "memory", "MB"},
                                 {"samples_per_second_per_mb", "samples/s per MB"},
                                 {"within_budget", "in budget", "", study.max_mb.has_value()}},
                     .rows = {},
                     .charts = batch_charts(study)};
  if (study.max_mb) {
    report.setting.push_back(fmt::format("budget {} MB", with_decimal(*study.max_mb)));
  }
  for (const BatchRow& row : study.rows) {
    report.rows.push_back({row.batch_size, row.latency_ms, row.samples_per_second, row.memory_mb,
                           row.samples_per_second_per_mb, row.within_budget});
  }
  report.details = {
      {"max_mb", optional_cell(study.max_mb)},
      {"sweet_spot", optional_cell(study.sweet_spot)},
      {"sweet_spot_rule",
       StudyCell(fmt::format("the smallest batch within {:.0f} % of the best throughput within "
                             "the memory budget",
                             100 * (1 - kSweetSpotShare)))},
      {"best_batch", optional_cell(study.best_batch)},
      {"most_samples_per_second_per_mb", optional_cell(study.most_per_mb)}};
  return report;
}

namespace {

double threads_of(const ThreadRow& row) {
  return row.threads;
}

std::vector<StudyChart> thread_charts(const ThreadScaling& study) {
  StudyChart speedup{.title = "speed-up by threads",
                     .x = {"threads", false},
                     .y = {"speed-up", false},
                     .series = {}};
  speedup.series.push_back(series_of("measured", study.rows, threads_of,
                                     [](const ThreadRow& row) { return row.speedup; }));
  const double first = study.rows.front().threads;
  speedup.series.push_back(
      series_of("linear", study.rows, threads_of,
                [first](const ThreadRow& row) { return row.threads / first; }));
  return {speedup};
}

}  // namespace

StudyReport study_report(const ThreadScaling& study) {
  Study facts = study;
  facts.threads = 0;  // they differ
  StudyReport report{.study = "threads",
                     .title = "What more threads give",
                     .setting = {setting_line(facts, study.batch)},
                     .facts = study,
                     .columns = {{"threads", "threads"},
                                 {"latency_ms", "latency", "ms"},
                                 {"samples_per_second", "samples/s"},
                                 {"speedup", "speed-up"},
                                 {"efficiency", "efficiency"}},
                     .rows = {},
                     .charts = thread_charts(study)};
  for (const ThreadRow& row : study.rows) {
    report.rows.push_back({std::int64_t{row.threads}, row.latency_ms, row.samples_per_second,
                           row.speedup, row.efficiency});
  }
  report.details = {{"batch", StudyCell(study.batch)},
                    {"ends_at", StudyCell(std::int64_t{study.ends_at})},
                    {"serial_share", optional_cell(study.serial_share)}};
  return report;
}

namespace {

StudyChart precision_chart(std::string title, std::string label, const PrecisionComparison& study,
                           double PrecisionStudyRow::*figure) {
  return {.title = std::move(title),
          .kind = StudyChart::Kind::Bar,
          .x = {"precision"},
          .y = {label},
          .series = {series_of(
              label, study.rows, [](const PrecisionStudyRow& row) { return row.precision; },
              [figure](const PrecisionStudyRow& row) { return row.*figure; })}};
}

}  // namespace

StudyReport study_report(const PrecisionComparison& study) {
  StudyReport report{.study = "precision",
                     .title = "What each precision costs",
                     .setting = {setting_line(study, study.batch)},
                     .facts = study,
                     .columns = {{"precision", "precision"},
                                 {"latency_ms", "latency", "ms"},
                                 {"speedup", "speed-up"},
                                 {"memory_mb", "memory", "MB"},
                                 {"size_mb", "size", "MB"},
                                 {"gflops_per_second", "GFLOP/s", "", false},
                                 {"output_deviation", "deviation"},
                                 {"output_agreement", "agreement"},
                                 {"compared_rows", "rows", "", false}},
                     .rows = {},
                     .charts = {precision_chart("latency by precision", "latency, ms", study,
                                                &PrecisionStudyRow::latency_ms),
                                precision_chart("memory by precision", "memory, MB", study,
                                                &PrecisionStudyRow::memory_mb),
                                precision_chart("size by precision", "size, MB", study,
                                                &PrecisionStudyRow::size_mb)}};
  for (const PrecisionStudyRow& row : study.rows) {
    report.rows.push_back({row.precision, row.latency_ms, row.speedup, row.memory_mb, row.size_mb,
                           row.gflops_per_second, optional_cell(row.output_deviation),
                           optional_cell(row.output_agreement), row.compared_rows});
  }
  report.details = {{"batch", StudyCell(study.batch)},
                    {"fastest", text_cell(study.fastest)},
                    {"smallest", text_cell(study.smallest)}};
  return report;
}

}  // namespace assay
