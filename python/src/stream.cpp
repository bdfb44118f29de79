// assay.stream, assay.hardware_profile and simulate_deployment: a model fed at a fixed interval.
#include "assay/stream.h"

#include "assay/deployment.h"
#include "assay/stored_calibration.h"
#include "assay/stream_report.h"
#include "assay/stream_timing.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct StreamRequest {
  std::optional<std::int64_t> features = {};
  std::int64_t batch = 1;
  std::optional<double> interval_ms = {};
  std::optional<StreamOptions> stream = {};
  std::optional<IntervalSearchOptions> search = {};
  bool deployment = false;
};

HardwareProfile estimated(const StreamRequest& request, const Model& model, double interval_ms,
                          const HardwareProfileOptions& options, Progress& progress) {
  if (request.features) {
    return build_hardware_profile_table(*request.features, request.batch, interval_ms, options,
                                        &progress);
  }
  return build_hardware_profile_table(model.graph, model.name, interval_ms, options, &progress);
}

double interval_of(const StreamRequest& request, const StreamedModel& streamed) {
  if (request.interval_ms) return *request.interval_ms;
  if (streamed.search && streamed.search->interval_ms) return *streamed.search->interval_ms;
  if (streamed.was_interrupted()) throw Error(ErrorKind::Cancelled, "interrupted");
  fail_running("no sustainable interval was found; close other programs and try again");
}

Report report_of(StreamReport report) {
  const auto shared = std::make_shared<const StreamReport>(std::move(report));
  return {.document = "stream.json",
          .table = [shared](const Layout& layout) { return stream_table(*shared, layout); },
          .forms = {{"json", [shared] { return stream_json(*shared); }},
                    {"csv", [shared] { return operator_profile_csv(shared->profile); }},
                    {"totals.csv", [shared] { return hardware_totals_csv(shared->profile); }}}};
}

Report streamed(const Model& model, const StreamRequest& request, HardwareProfileOptions options,
                const ChosenMachine& machine, Progress& progress) {
  std::vector<std::string> warnings = machine.warnings;
  options.machine = machine.machine;
  options.calibration = cached_calibration(machine.machine, warnings);
  options.run.program.only_where_faster = true;
  StreamReport report;
  if (request.stream || request.search) {
    report.streamed =
        stream_model(model.graph, options.run, request.stream, request.search, &progress);
  }
  report.profile =
      estimated(request, model, interval_of(request, report.streamed), options, progress);
  report.profile.warnings.insert(report.profile.warnings.end(), warnings.begin(), warnings.end());
  if (request.deployment) {
    report.deployment =
        simulate_deployment(model.graph, report.profile.batch, {.run = options.run}, &progress);
  }
  return report_of(std::move(report));
}

StreamRequest request_of(std::optional<std::int64_t> features, std::int64_t batch,
                         std::optional<double> interval_ms, bool measured, bool find_interval,
                         std::optional<double> deadline_ms, std::optional<double> duration,
                         bool deployment) {
  if (interval_ms) check_stream_interval(*interval_ms);
  if (deadline_ms) check_stream_interval(*deadline_ms);
  if (!interval_ms && (measured || !find_interval)) {
    fail_usage("`interval_ms` is required{}",
               measured ? " to measure" : "; find_interval finds the shortest");
  }
  if (deadline_ms && !measured && !find_interval) {
    fail_usage("`deadline_ms` needs measured or find_interval");
  }
  if (duration && !measured) fail_usage("`duration` needs measured");
  StreamRequest request{
      .features = features, .batch = batch, .interval_ms = interval_ms, .deployment = deployment};
  if (measured) {
    request.stream = {
        .interval_ms = *interval_ms, .deadline_ms = deadline_ms, .duration_seconds = duration};
  }
  if (find_interval) request.search = {.deadline_ms = deadline_ms};
  return request;
}

Model streaming(std::int64_t features, std::int64_t batch, std::optional<std::int64_t> width) {
  return {streaming_model(features, batch, width), "the streaming model"};
}

py::dict deployment_of(const Model& model, std::int64_t batch_size, double latency_multiplier,
                       double seconds, const RunOptions& run, const py::object& progress) {
  const Deployment result = call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      DeploymentOptions options{.run = run, .seconds = seconds};
      options.latency_multiplier = latency_multiplier;
      return simulate_deployment(model.graph, batch_size, options, &reports);
    });
  });
  py::dict keys;
  keys["batch_latency_ms"] = result.batch_latency_ms;
  keys["batch_throughput_sps"] = result.batch_throughput_sps;
  keys["stream_avg_latency_ms"] = result.stream_avg_latency_ms;
  keys["stream_throughput_sps"] = result.stream_throughput_sps;
  keys["latency_multiplier"] = result.latency_multiplier;
  keys["batch"] = result.batch;
  keys["rounds"] = result.rounds;
  return keys;
}

// A profile that Python holds as a dict, as far as its two CSV files show it.
HardwareProfile profile_of(const py::list& operators, const py::dict& totals) {
  const auto figure = [](const py::handle& row, const char* key) {
    return row.attr("get")(key).cast<std::optional<double>>();
  };
  HardwareProfile profile;
  for (const py::handle row : operators) {
    profile.operator_profile.push_back({.operator_name = py::str(row[py::str("operator")]),
                                        .latency_ms = figure(row, "latency_ms"),
                                        .memory_kb = figure(row, "memory_kb")});
  }
  const auto total = [&](const char* key) { return figure(totals, key).value_or(0); };
  profile.totals = {.latency_ms = total("latency_ms"),
                    .memory_kb = total("memory_kb"),
                    .estimated_bandwidth_mb_s = total("estimated_bandwidth_mb_s"),
                    .stream_utilization = total("stream_utilization"),
                    .stream_utilization_uncapped = total("stream_utilization_uncapped"),
                    .overhead_ms = total("overhead_ms")};
  return profile;
}

py::dict write_artifacts(const py::list& operators, const py::dict& totals,
                         const std::string& folder) {
  py::dict paths;
  for (const auto& [key, path] :
       write_hardware_profile_artifacts(profile_of(operators, totals), folder)) {
    paths[py::str(key)] = path.string();
  }
  return paths;
}

}  // namespace

void bind_stream(py::module_& module) {
  module.def("streaming_model", &streaming, py::arg("features"), py::arg("batch") = 1,
             py::arg("width") = py::none());
  module.def(
      "stream",
      [](const Model& model, const RunOptions& run, const ChosenMachine& machine,
         std::optional<std::int64_t> features, std::int64_t batch,
         std::optional<std::int64_t> width, std::optional<double> interval_ms, bool measured,
         bool find_interval, std::optional<double> deadline_ms, std::optional<double> duration,
         bool deployment, const py::object& progress) {
        const StreamRequest request = request_of(features, batch, interval_ms, measured,
                                                 find_interval, deadline_ms, duration, deployment);
        return call(progress, [&](Progress& reports) {
          return naming(model, [&] {
            return streamed(model, request, {.run = run, .width = width}, machine, reports);
          });
        });
      },
      py::arg("model"), py::arg("options"), py::arg("machine"), py::arg("features") = py::none(),
      py::arg("batch") = 1, py::arg("width") = py::none(), py::arg("interval_ms") = py::none(),
      py::arg("measured") = false, py::arg("find_interval") = false,
      py::arg("deadline_ms") = py::none(), py::arg("duration") = py::none(),
      py::arg("deployment") = false, py::arg("progress") = py::none());
  module.def("write_hardware_profile_artifacts", &write_artifacts);
  module.def("simulate_deployment", &deployment_of, py::arg("model"), py::arg("batch_size"),
             py::arg("latency_multiplier") = 1.0, py::arg("seconds") = 2.0, py::arg("options"),
             py::arg("progress") = py::none());
}

}  // namespace assay::python
