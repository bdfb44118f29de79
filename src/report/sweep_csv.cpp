#include "assay/sweep_report.h"
#include "report/sweep_columns.h"
#include "report/sweep_parts.h"

namespace assay {

using namespace assay::report;

namespace {

NamedFigures failure_figures(const SweepRow& row) {
  NamedFigures figures = version_figures(row);
  figures.insert(figures.end(), {{"seed", row.seed},
                                 {"error", row.error},
                                 {"seconds", row.seconds},
                                 {"host", row.machine.host},
                                 {"task", row.task}});
  return figures;
}

}  // namespace

std::string sweep_results_csv(const std::vector<SweepRow>& rows, const SweepConfig& config) {
  const std::vector<std::string> violations = violation_names(config);
  std::string text = csv_header(sweep_figures(SweepRow{}, violations));
  for (const SweepRow& row : rows) text += csv_row(sweep_figures(row, violations));
  return text;
}

std::string report::sweep_errors_csv(const std::vector<SweepRow>& rows) {
  std::string text = csv_header(failure_figures(SweepRow{}));
  for (const SweepRow& row : rows) {
    if (has_failed(row)) text += csv_row(failure_figures(row));
  }
  return text;
}

std::string report::frontier_csv(const SweepRun& run, const std::vector<std::size_t>& frontier) {
  std::vector<SweepRow> rows;
  for (const std::size_t index : frontier) rows.push_back(run.rows.at(index));
  return sweep_results_csv(rows, run.config);
}

}  // namespace assay
