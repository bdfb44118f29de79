#include "assay/profile.h"

#include "assay/profile_report.h"
#include "assay/training_profile.h"
#include "assay/training_profile_report.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct ProfileResult {
  std::shared_ptr<const Profile> profile;
  Report report;
};

Report report_of(const std::shared_ptr<const Profile>& profile) {
  Report report{.document = "profile.json",
                .table =
                    [profile](const Layout& layout) {
                      ProfileReportOptions options;
                      options.layout = layout;
                      return profile_table(*profile, options);
                    },
                .forms = {{"json", [profile] { return profile_json(*profile); }},
                          {"csv", [profile] { return profile_csv(*profile); }},
                          {"png", [profile] { return layer_times_png(*profile); }},
                          {"svg", [profile] { return layer_times_svg(*profile); }}}};
  if (!profile->traced_runs.empty()) {
    report.forms["trace"] = [profile] { return profile_trace(*profile); };
  }
  if (const auto chart = roofline_chart(*profile)) {
    report.forms["roofline.png"] = [profile] { return roofline_png(*roofline_chart(*profile)); };
    report.forms["roofline.svg"] = [profile] { return roofline_svg(*roofline_chart(*profile)); };
  }
  return report;
}

// What an interrupted measurement has so far is not what was asked for: Python raises instead.
ProfileResult profiled(const Model& model, const ProfileOptions& options,
                       const std::optional<ChosenMachine>& machine, Progress& progress) {
  Profile profile =
      naming(model, [&] { return profile_model(model.graph, model.name, options, &progress); });
  if (machine) {
    profile.warnings.insert(profile.warnings.end(), machine->warnings.begin(),
                            machine->warnings.end());
  }
  const auto shared = std::make_shared<const Profile>(std::move(profile));
  return {shared, report_of(shared)};
}

Report trained(const Model& model, const TrainingProfileOptions& options, Progress& progress) {
  const auto shared = std::make_shared<const TrainingProfile>(
      naming(model, [&] { return profile_training(model.graph, model.name, options, &progress); }));
  return {.document = "profile.json",
          .table =
              [shared](const Layout& layout) {
                TrainingReportOptions report;
                report.layout = layout;
                return training_table(*shared, report);
              },
          .forms = {{"json", [shared] { return training_json(*shared); }},
                    {"csv", [shared] { return training_csv(*shared); }},
                    {"png", [shared] { return training_memory_png(*shared); }},
                    {"svg", [shared] { return training_memory_svg(*shared); }}}};
}

ProfileOptions profile_options(const RunOptions& run, const TimingOptions& timing,
                               const std::optional<ChosenMachine>& machine,
                               std::optional<double> power_watts, bool measure_energy,
                               bool count_events, std::size_t traced_runs) {
  ProfileOptions options{.run = run, .timing = timing};
  options.run.program.only_where_faster = true;
  if (options.run.program.cpu.threads == 0) options.run.program.cpu.fewer_where_faster = true;
  options.judge = machine.has_value();
  if (machine) options.machine = machine->machine;
  options.power_watts = power_watts;
  options.measure_energy = measure_energy;
  options.count_events = count_events;
  options.traced_runs = traced_runs;
  return options;
}

TimingOptions timing_options(std::optional<std::size_t> warmup, std::optional<std::size_t> runs,
                             std::optional<double> min_time, std::optional<double> max_time,
                             std::optional<double> target) {
  TimingOptions timing{.fixed_warmup = warmup, .fixed_samples = runs};
  if (max_time) {
    timing.max_seconds = *max_time;
    timing.min_seconds = std::min(timing.min_seconds, *max_time);
  }
  if (min_time) {
    timing.min_seconds = *min_time;
    timing.max_seconds = std::max(timing.max_seconds, *min_time);
  }
  if (target) timing.target = *target;
  return timing;
}

}  // namespace

void bind_profile(py::module_& module) {
  py::class_<TimingOptions>(module, "TimingOptions")
      .def(py::init(&timing_options), py::kw_only(), py::arg("warmup") = py::none(),
           py::arg("runs") = py::none(), py::arg("min_time") = py::none(),
           py::arg("max_time") = py::none(), py::arg("target") = py::none());
  py::class_<ProfileResult>(module, "ProfileResult")
      .def_readonly("report", &ProfileResult::report)
      .def("layer_estimates", [](const ProfileResult& result) {
        py::list rows;
        for (const LayerEstimate& layer : layer_estimates(*result.profile)) {
          rows.append(py::make_tuple(layer.layer, layer.output_elements, layer.parameter_bytes,
                                     layer.activation_bytes, layer.macs));
        }
        return rows;
      });
  module.def(
      "profile",
      [](const Model& model, const RunOptions& run, const TimingOptions& timing,
         const std::optional<ChosenMachine>& machine, std::optional<double> power_watts,
         bool measure_energy, bool count_events, std::size_t traced_runs,
         const py::object& progress) {
        ProfileOptions options = profile_options(run, timing, machine, power_watts, measure_energy,
                                                 count_events, traced_runs);
        options.read_ms = model.read_ms;
        return call(progress,
                    [&](Progress& reports) { return profiled(model, options, machine, reports); });
      },
      py::arg("model"), py::arg("options"), py::arg("timing"), py::arg("machine") = py::none(),
      py::arg("power_watts") = py::none(), py::arg("measure_energy") = false,
      py::arg("count_events") = false, py::arg("traced_runs") = 0,
      py::arg("progress") = py::none());
  module.def(
      "profile_training",
      [](const Model& model, const RunOptions& run, const TimingOptions& timing,
         const std::optional<ChosenMachine>& machine, const std::string& optimizer,
         const std::string& loss, std::int64_t accumulate, std::size_t recompute,
         const py::object& progress) {
        TrainingProfileOptions options{
            .profile = profile_options(run, timing, machine, {}, false, false, 0)};
        options.profile.run.program.only_where_faster = false;
        options.step = {.loss = loss_named(loss),
                        .optimizer = {.kind = optimizer_named(optimizer)},
                        .seed = run.seed,
                        .accumulate = accumulate,
                        .pieces = recompute};
        return call(progress, [&](Progress& reports) { return trained(model, options, reports); });
      },
      py::arg("model"), py::arg("options"), py::arg("timing"), py::arg("machine") = py::none(),
      py::arg("optimizer") = "sgd", py::arg("loss") = "sum-of-squares", py::arg("accumulate") = 1,
      py::arg("recompute") = 1, py::arg("progress") = py::none());
}

}  // namespace assay::python
