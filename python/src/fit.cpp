#include "assay/fit.h"

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/fit_report.h"
#include "assay/run.h"
#include "assay/stored_calibration.h"
#include "base/fail.h"
#include "base/text.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

// Those of the catalogue and of the files, this machine first; or only the ones named.
std::vector<Device> wanted_devices(const std::vector<std::string>& ids, const std::string& kind,
                                   const std::vector<std::string>& files,
                                   const std::string& described, const Machine& machine) {
  std::vector<Device> devices = with_described_devices(built_in_devices(), described);
  for (const std::string& file : files) {
    merge_devices(devices, read_device_file(file, devices), file);
  }
  sort_devices(devices);
  devices.insert(devices.begin(), device_from_machine(machine, "this-machine"));
  if (!ids.empty()) return devices_named(devices, ids);
  if (kind.empty()) return devices;
  const auto wanted = device_kind(kind);
  if (!wanted) fail_usage("`kind` '{}': there are {}", kind, join(device_kind_names(), ", "));
  std::erase_if(devices, [&](const Device& device) { return device.kind != *wanted; });
  return devices;
}

Report report_of(FitReport report) {
  const auto shared = std::make_shared<const FitReport>(std::move(report));
  return {.document = "fit.json",
          .table = [shared](const Layout& layout) { return fit_table(*shared, layout); },
          .forms = {{"json", [shared] { return fit_json(*shared); }},
                    {"csv", [shared] { return fit_csv(*shared); }}}};
}

void check_limit(const char* name, std::optional<double> limit) {
  if (limit && !(*limit > 0)) fail_usage("`{}` {}: expected a number above 0", name, *limit);
}

std::string by_hand_warning(const std::string& described) {
  std::vector<std::string> names;
  for (const Device& device : parse_devices_json(described, "devices", built_in_devices())) {
    names.push_back(device.name);
  }
  return "figures given by hand, not of the catalogue: " + join(names, ", ");
}

Report fit(const Model& model, const RunOptions& run, const ChosenMachine& machine,
           const std::vector<std::string>& devices, const std::string& described,
           const std::string& kind, const std::vector<std::string>& device_files,
           const std::string& precision, std::optional<double> max_ms, std::optional<double> max_mb,
           std::optional<double> max_watts, bool recalibrate, const py::object& progress) {
  check_limit("max_ms", max_ms);
  check_limit("max_mb", max_mb);
  check_limit("max_watts", max_watts);
  FitOptions options{.precision = precision, .limits = {max_ms, max_mb, max_watts}};
  options.count.bindings = run.bindings;
  return call(progress, [&](Progress& reports) {
    const std::vector<Device> wanted =
        wanted_devices(devices, kind, device_files, described, machine.machine);
    std::vector<std::string> warnings = machine.warnings;
    const Calibration calibration = cached_or_measured_calibration(
        machine.machine, warnings, {.recalibrate = recalibrate}, &reports);
    FitReport report = naming(
        model, [&] { return fit_model(model.graph, model.name, wanted, calibration, options); });
    report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
    if (!described.empty()) report.warnings.push_back(by_hand_warning(described));
    return report_of(std::move(report));
  });
}

}  // namespace

void bind_fit(py::module_& module) {
  module.def("fit", &fit, py::arg("model"), py::arg("options"), py::arg("machine"),
             py::arg("devices") = std::vector<std::string>(), py::arg("described") = "",
             py::arg("kind") = "", py::arg("device_files") = std::vector<std::string>(),
             py::arg("precision") = "fp32", py::arg("max_ms") = py::none(),
             py::arg("max_mb") = py::none(), py::arg("max_watts") = py::none(),
             py::arg("recalibrate") = false, py::arg("progress") = py::none());
}

}  // namespace assay::python
