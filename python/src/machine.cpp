// This machine and the catalogue of others.
#include "python/src/machine.h"

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/device_report.h"
#include "assay/engine.h"
#include "assay/machine_report.h"
#include "assay/stored_machine.h"
#include "base/fail.h"
#include "base/text.h"
#include "python/src/call.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

// The processor, and the GPU if there is one.
ChosenMachine measured(bool quick, std::optional<double> max_time, Progress& reports) {
  ChosenMachine result;
  result.machine = measure_machine({.quick = quick, .seconds = max_time}, &reports);
  if (!quick) cache_machine(result.machine, result.warnings);
  const auto found = find_gpu();
  if (!found) return result;
  result.machine.gpu = measure_gpu(*found, {.quick = quick}, &reports);
  if (!quick) cache_gpu(*result.machine.gpu, result.warnings);
  return result;
}

ChosenMachine whole(bool refresh, bool quick, std::optional<double> max_time,
                    const py::object& progress) {
  if (max_time && !refresh && !quick) fail_usage("`max_time` needs refresh or quick");
  return call(progress, [&](Progress& reports) {
    if (refresh || quick) return measured(quick, max_time, reports);
    ChosenMachine result;
    result.machine = chosen_machine(result.warnings, &reports);
    if (!chosen_machine_file())
      result.machine.gpu = cached_or_measured_gpu(result.warnings, &reports);
    return result;
  });
}

// What programs of the engine run on: the processor alone, or the GPU alone.
ChosenMachine ceilings_for(const std::string& engine, const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    ChosenMachine result;
    const bool is_gpu = find_engine(engine.empty() ? default_engine() : engine).device != "cpu";
    result.machine =
        is_gpu ? chosen_gpu(result.warnings, &reports) : chosen_machine(result.warnings, &reports);
    return result;
  });
}

Report machine_report(const ChosenMachine& chosen) {
  auto machine = std::make_shared<Machine>(chosen.machine);
  machine->surroundings = read_surroundings();  // as they are now
  machine->instruments = find_instruments();
  return {.document = "machine.json",
          .table = [machine](const Layout& layout) { return machine_table(*machine, layout); },
          .forms = {{"json", [machine] { return machine_json(*machine); }}}};
}

std::vector<Device> known_devices(const std::vector<std::string>& files,
                                  std::vector<std::string>& warnings) {
  std::vector<Device> devices = built_in_devices();
  for (const std::string& file : files) {
    const auto replaced = merge_devices(devices, read_device_file(file, devices), file);
    warnings.insert(warnings.end(), replaced.begin(), replaced.end());
  }
  sort_devices(devices);
  return devices;
}

DeviceKind kind_named(const std::string& word) {
  if (const auto kind = device_kind(word)) return *kind;
  fail_usage("`kind` '{}': there are {}", word, join(device_kind_names(), ", "));
}

Report device_report(const std::string& kind, const std::vector<std::string>& device_files) {
  auto warnings = std::make_shared<std::vector<std::string>>();
  auto devices = std::make_shared<std::vector<Device>>(known_devices(device_files, *warnings));
  if (!kind.empty()) {
    const DeviceKind wanted = kind_named(kind);
    std::erase_if(*devices, [&](const Device& device) { return device.kind != wanted; });
  }
  return {.document = "devices.json",
          .table = [devices](const Layout& layout) { return devices_table(*devices, layout); },
          .forms = {{"json", [devices, warnings] { return devices_json(*devices, *warnings); }},
                    {"csv", [devices] { return devices_csv(*devices); }}}};
}

}  // namespace

std::vector<Device> with_described_devices(std::vector<Device> devices,
                                           const std::string& described) {
  if (!described.empty()) {
    merge_devices(devices, parse_devices_json(described, "devices", devices), "devices");
  }
  return devices;
}

std::vector<Device> devices_named(std::span<const Device> devices,
                                  const std::vector<std::string>& ids) {
  std::vector<Device> named;
  for (const std::string& id : ids) named.push_back(find_device(devices, id));
  return named;
}

void bind_machine(py::module_& module) {
  py::class_<ChosenMachine>(module, "ChosenMachine")
      .def_readonly("warnings", &ChosenMachine::warnings)
      .def("report", &machine_report);
  module.def("machine", &whole, py::arg("refresh") = false, py::arg("quick") = false,
             py::arg("max_time") = py::none(), py::arg("progress") = py::none());
  module.def("ceilings", &ceilings_for, py::arg("engine") = "", py::arg("progress") = py::none());
  module.def("devices", &device_report, py::arg("kind") = "",
             py::arg("device_files") = std::vector<std::string>());
}

}  // namespace assay::python
