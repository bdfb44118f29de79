// assay devices: the catalogue of devices and the user's own devices.
#include <memory>

#include "assay/device_list.h"
#include "assay/device_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device_options.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct DevicesArguments {
  std::string id;
  std::string kind;
  DeviceArguments devices;
  OutputFormat format;
};

constexpr const char* kDevicesExamples = R"(Examples:
  assay devices                                what there is, from small to large
  assay devices jetson-nano                    one in full, with every source
  assay devices --kind gpu                     of one kind
  assay devices --device-file mine.json        with your own; docs/devices.md describes the file
  assay machine --json > kitchen-pi.json       on the device itself, then anywhere
  assay devices kitchen-pi --device-file kitchen-pi.json
  assay devices --json | jq '.devices[].id'    for programs)";

std::vector<Device> selected(const DevicesArguments& arguments, std::vector<Device> devices) {
  if (!arguments.id.empty()) return {find_device(devices, arguments.id)};
  if (arguments.kind.empty()) return devices;
  const DeviceKind kind = device_kind_called(arguments.kind);
  std::erase_if(devices, [&](const Device& device) { return device.kind != kind; });
  return devices;
}

std::string rendered(const DevicesArguments& arguments, const std::vector<Device>& devices,
                     const std::vector<std::string>& warnings) {
  const auto table = [&](const Layout& layout) {
    return arguments.id.empty() ? devices_table(devices, layout) : device_text(devices.front());
  };
  return formatted(
      arguments.format, table, [&] { return devices_json(devices, warnings); },
      [&] { return devices_csv(devices); });
}

Exit run_devices(const DevicesArguments& arguments, bool quiet) {
  KnownDevices known = known_devices(arguments.devices);
  const auto devices = selected(arguments, std::move(known.devices));
  if (devices.empty()) {
    known.warnings.push_back(
        fmt::format("no device is of kind '{}'; --device-file adds one", arguments.kind));
  }
  print_data(rendered(arguments, devices, known.warnings));
  print_warnings(known.warnings, quiet);
  return Exit::Fine;
}

}  // namespace

void add_devices(CommandLine& program) {
  auto arguments = std::make_shared<DevicesArguments>();
  Command* devices = program.app.add_subcommand(
      "devices", "The catalogue of devices: memory, bandwidth, peaks, power, with their sources");
  auto* id = devices->add_option("ID", arguments->id, "one device, in full");
  devices->heading("Devices");
  devices
      ->add_option("--kind KIND", arguments->kind, "only one of " + join(device_kind_names(), ", "))
      ->excludes(id);
  add_device_options(*devices, arguments->devices);
  add_output_format(*devices, arguments->format, "print a line for each device as CSV");
  devices->footer(kDevicesExamples);
  devices->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_devices(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
