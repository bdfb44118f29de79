#include "assay/compare_models.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "assay/accuracy.h"
#include "assay/compare_sweeps.h"
#include "assay/run.h"
#include "assay/stored_profile.h"
#include "assay/stored_sweep.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct CompareSetting {
  ComparisonOptions options = {};
  std::vector<Gate> gates = {};
  std::optional<ComparedAccuracy> accuracy = {};
  std::optional<double> power_watts = {};
};

// Everything that gates may limit.
ModelComparison completed(ModelComparison comparison, const CompareSetting& setting) {
  comparison.accuracy = setting.accuracy;
  comparison.power_watts = setting.power_watts;
  comparison.threshold = setting.options.threshold;
  return comparison;
}

// Gates say when to stop, if there are any.
IsDecided when_decided(const CompareSetting& setting) {
  if (setting.gates.empty()) return has_verdict;
  return [&setting](const ModelComparison& so_far) {
    const ComparedRow row{.metrics = compared_metrics(completed(so_far, setting))};
    const auto results = judge_gates(setting.gates, {row});
    return std::ranges::none_of(results, [](const GateResult& result) {
      return result.verdict == GateVerdict::Undecided && result.gate.metric != "accuracy";
    });
  };
}

Report report_of(CompareReport report, const CompareSetting& setting) {
  report.gates = judge_gates(setting.gates, report.rows);
  const auto shared = std::make_shared<const CompareReport>(std::move(report));
  return {.document = "compare.json",
          .table =
              [shared](const Layout& layout) {
                return layout.markdown ? compare_markdown(*shared) : compare_table(*shared);
              },
          .forms = {{"json", [shared] { return compare_json(*shared); }},
                    {"markdown", [shared] { return compare_markdown(*shared); }},
                    {"junit", [shared] { return compare_junit(*shared); }}}};
}

struct ComparedNames {
  std::string a;
  std::string b;
};

Report in_turns(const ComparedProcesses& processes, const ComparedNames& names,
                const CompareSetting& setting, const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    const std::int64_t start = steady_clock().nanoseconds();
    ModelComparison comparison = completed(
        run_in_turns(processes, setting.options, reports, when_decided(setting)), setting);
    comparison.a.profile.model = names.a;  // not those of files for the processes
    comparison.b.profile.model = names.b;
    warn_of_settings(comparison);
    CompareReport report = compare_report(std::move(comparison));
    report.seconds = static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
    return report_of(std::move(report), setting);
  });
}

StoredProfile read_profile(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail_bad_input("{}: cannot be read", path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_profile_json(text.str(), path);
}

Report as_stored(const std::string& a, const std::string& b, const CompareSetting& setting) {
  const py::gil_scoped_release released;
  ModelComparison comparison =
      completed(compare_profiles(read_profile(a), read_profile(b), setting.options), setting);
  warn_of_settings(comparison);
  return report_of(compare_report(std::move(comparison)), setting);
}

Report sweeps(const std::string& a, const std::string& b, const CompareSetting& setting) {
  const py::gil_scoped_release released;
  return report_of(compare_sweeps(read_sweep(a), read_sweep(b)), setting);
}

ComparedAccuracy accuracies(const Model& a, const Model& b, const Dataset& data,
                            const RunOptions& run, const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    const Loader loader(data,
                        {.batch_size = std::min<std::int64_t>(64, data.size()), .shuffle = false});
    const auto evaluated = [&](const Model& model) {
      return naming(
          model, [&] { return evaluate(model.graph, loader, {.program = run.program}, &reports); });
    };
    const Evaluation of_a = evaluated(a);
    const Evaluation of_b = evaluated(b);
    const AccuracyDifference difference = compare_accuracy(of_a, of_b);
    const Accuracy& accuracy = of_b.accuracy;
    return ComparedAccuracy{.a = of_a.accuracy.value,
                            .b = accuracy.value,
                            .b_ci95 = {accuracy.ci95_low, accuracy.ci95_high},
                            .difference_ci95 = {difference.ci95_low, difference.ci95_high},
                            .samples = accuracy.total,
                            .dataset = data.name};
  });
}

CompareSetting setting_of(double max_time, double threshold_percent,
                          const std::vector<std::string>& fail_if,
                          std::optional<ComparedAccuracy> accuracy,
                          std::optional<double> power_watts) {
  if (!(max_time >= 0.1)) fail_usage("`max_time` {}: expected at least 0.1 seconds", max_time);
  if (!(threshold_percent >= 0.001)) {
    fail_usage("`threshold` {}: expected at least 0.001 percent", threshold_percent);
  }
  CompareSetting setting{.accuracy = std::move(accuracy), .power_watts = power_watts};
  setting.options.max_seconds = max_time;
  setting.options.threshold = threshold_percent / 100;
  for (const std::string& gate : fail_if) setting.gates.push_back(parse_gate(gate));
  return setting;
}

}  // namespace

void bind_compare(py::module_& module) {
  py::class_<ComparedAccuracy>(module, "ComparedAccuracy");
  py::class_<CompareSetting>(module, "CompareSetting")
      .def(py::init(&setting_of), py::arg("max_time"), py::arg("threshold"), py::arg("fail_if"),
           py::arg("accuracy") = py::none(), py::arg("power_watts") = py::none());
  module.def("compared_accuracy", &accuracies);
  module.def("is_sweep_folder", [](const std::string& path) { return is_sweep_folder(path); });
  module.def("compare_stored", &as_stored);
  module.def("compare_sweeps", &sweeps);
  py::class_<ComparedNames>(module, "ComparedNames")
      .def(py::init<std::string, std::string>(), py::arg("a"), py::arg("b"));
  module.def("compare", [](const std::string& program, const std::string& a, const std::string& b,
                           const std::vector<std::string>& flags, const ComparedNames& names,
                           const CompareSetting& setting, const py::object& progress) {
    return in_turns({.a = {a, flags}, .b = {b, flags}, .program = program}, names, setting,
                    progress);
  });
}

}  // namespace assay::python
