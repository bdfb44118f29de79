#include "assay/sweep.h"

#include "assay/sweep_config_file.h"
#include "assay/sweep_report.h"
#include "python/src/call.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct SweepDone {
  Report report;
  std::string folder;
  std::vector<std::string> warnings;
  bool interrupted = false;
};

std::string json_of(const std::vector<SweepRun>& runs) {
  if (runs.empty()) return "{}";
  return runs.size() == 1 ? sweep_summary_json(runs.front()) : multi_seed_json(runs);
}

std::string csv_of(const std::vector<SweepRun>& runs) {
  if (runs.empty()) return "";
  std::vector<SweepRow> rows;
  for (const SweepRun& run : runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  return sweep_results_csv(rows, runs.front().config);
}

std::string table_of(const std::vector<SweepRun>& runs, const Layout& layout) {
  if (runs.empty()) return "";
  return runs.size() == 1 ? sweep_table(runs.front(), layout) : multi_seed_table(runs, layout);
}

std::vector<std::string> warnings_of(const SweepResult& result) {
  std::vector<std::string> warnings = result.outcome.warnings;
  warnings.insert(warnings.end(), result.merged.warnings.begin(), result.merged.warnings.end());
  for (const SweepRun& run : result.merged.runs) {
    warnings.insert(warnings.end(), run.warnings.begin(), run.warnings.end());
  }
  return warnings;
}

SweepDone done(SweepResult result, const std::string& folder) {
  SweepDone done;
  done.folder = folder;
  done.warnings = warnings_of(result);
  done.interrupted = result.outcome.interrupted;
  const auto runs = std::make_shared<const std::vector<SweepRun>>(std::move(result.merged.runs));
  done.report = {.document = "summary.json",
                 .table = [runs](const Layout& layout) { return table_of(*runs, layout); },
                 .forms = {{"json", [runs] { return json_of(*runs); }},
                           {"csv", [runs] { return csv_of(*runs); }}}};
  return done;
}

SweepDone sweep(const std::string& yaml, const std::string& described_as,
                const std::string& output_dir, bool retry_errors, const py::object& progress) {
  SweepConfig config = parse_sweep_config(yaml, described_as);
  if (!output_dir.empty()) config.output_dir = output_dir;
  return call(progress, [&](Progress& reports) {
    return done(
        run_sweep(config, {.retries_errors = retry_errors, .command = "assay.sweep"}, &reports),
        config.output_dir);
  });
}

}  // namespace

void bind_sweep(py::module_& module) {
  py::class_<SweepDone>(module, "SweepDone")
      .def_readonly("report", &SweepDone::report)
      .def_readonly("folder", &SweepDone::folder)
      .def_readonly("warnings", &SweepDone::warnings)
      .def_readonly("interrupted", &SweepDone::interrupted);
  module.def("sweep", &sweep, py::arg("yaml"), py::arg("described_as"), py::arg("output_dir") = "",
             py::arg("retry_errors") = false, py::arg("progress") = py::none());
  module.def("sweep_config_template", &sweep_config_template);
}

}  // namespace assay::python
