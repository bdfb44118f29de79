#include "assay/study.h"

#include "assay/precision_variants.h"
#include "assay/study_report.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

StudyOptions study_options(const RunOptions& run, const ChosenMachine& machine, std::size_t warmup,
                           std::size_t runs, std::size_t rounds) {
  if (runs == 0 || rounds == 0) fail_usage("`runs` and `rounds` are at least 1");
  StudyOptions options{.warmup = warmup, .runs = runs, .rounds = rounds, .seed = run.seed};
  options.program = run.program;
  options.machine = machine.machine;
  return options;
}

Report report_of(StudyReport report, const ChosenMachine& machine) {
  auto& warnings = report.facts.warnings;
  warnings.insert(warnings.end(), machine.warnings.begin(), machine.warnings.end());
  const auto shared = std::make_shared<const StudyReport>(std::move(report));
  return {.document = shared->study + ".json",
          .table = [shared](const Layout& layout) { return study_table(*shared, layout); },
          .forms = {{"json", [shared] { return study_json(*shared); }},
                    {"csv", [shared] { return study_csv(*shared); }},
                    {"png", [shared] { return study_png(*shared); }},
                    {"svg", [shared] { return study_svg(*shared); }}}};
}

// How every study is measured.
struct Setting {
  RunOptions run;
  ChosenMachine machine;
  StudyOptions options;
};

Report scaling(const Setting& setting, const std::string& model, const std::string& parameter,
               const std::vector<std::int64_t>& values, std::optional<std::int64_t> batch,
               const py::object& progress) {
  const ScalingOptions options{.measuring = setting.options,
                               .model = model,
                               .parameter = parameter,
                               .values = values,
                               .batch = batch};
  return call(progress, [&](Progress& reports) {
    return report_of(study_report(analyze_model_scaling(options, &reports)), setting.machine);
  });
}

Report batches(const Setting& setting, const Model& model,
               const std::vector<std::int64_t>& batch_sizes, std::optional<double> max_mb,
               const py::object& progress) {
  const BatchOptions options{
      .measuring = setting.options, .batches = batch_sizes, .max_mb = max_mb, .run = setting.run};
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      return report_of(
          study_report(analyze_batch_size_effects(model.graph, model.name, options, &reports)),
          setting.machine);
    });
  });
}

Report operations(const Setting& setting, const std::vector<std::int64_t>& sizes,
                  const py::object& progress) {
  const OperationOptions options{.measuring = setting.options, .sizes = sizes};
  return call(progress, [&](Progress& reports) {
    return report_of(study_report(benchmark_operation_efficiency(options, &reports)),
                     setting.machine);
  });
}

Report overhead(const Setting& setting, const Model& model, const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      return report_of(study_report(analyze_profiling_overhead(
                           model.graph, model.name, setting.options, setting.run, &reports)),
                       setting.machine);
    });
  });
}

Report decode(const Setting& setting, const Model& plain, const Model& cached, std::size_t tokens,
              const std::vector<std::int64_t>& prompt, const py::object& progress) {
  const DecodingOptions options{.measuring = setting.options, .tokens = tokens, .prompt = prompt};
  return call(progress, [&](Progress& reports) {
    return naming(plain, [&] {
      return report_of(
          study_report(analyze_decoding(plain.graph, cached.graph, plain.name, options, &reports)),
          setting.machine);
    });
  });
}

Report precision(const Setting& setting, const Model& model,
                 const std::vector<std::string>& precisions, const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      ChosenMachine machine = setting.machine;
      const auto variants = precision_variants(model.graph, setting.run, precisions,
                                               setting.options, machine.warnings);
      return report_of(study_report(analyze_precisions(variants, model.name, setting.options,
                                                       setting.run, &reports)),
                       machine);
    });
  });
}

Report threads(const Setting& setting, const Model& model, const std::vector<int>& counts,
               const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      return report_of(study_report(analyze_thread_scaling(model.graph, model.name, counts,
                                                           setting.options, setting.run, &reports)),
                       setting.machine);
    });
  });
}

}  // namespace

void bind_study(py::module_& module) {
  py::class_<Setting>(module, "StudySetting")
      .def(py::init([](const RunOptions& run, const ChosenMachine& machine, std::size_t warmup,
                       std::size_t runs, std::size_t rounds) {
             return Setting{run, machine, study_options(run, machine, warmup, runs, rounds)};
           }),
           py::arg("options"), py::arg("machine"), py::arg("warmup"), py::arg("runs"),
           py::arg("rounds"));
  module.def("study_scaling", &scaling);
  module.def("study_batch", &batches);
  module.def("study_operations", &operations);
  module.def("study_overhead", &overhead);
  module.def("study_decode", &decode);
  module.def("study_precision", &precision);
  module.def("study_threads", &threads);
}

}  // namespace assay::python
