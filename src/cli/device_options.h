// The devices a command knows: the built-in catalogue and the files named with --device-file.
#pragma once

#include <string>
#include <vector>

#include "assay/device.h"
#include "cli/command.h"

namespace assay::cli {

struct DeviceArguments {
  std::vector<std::string> files;
};

void add_device_options(Command& command, DeviceArguments& arguments);

// The kind of that name; otherwise an Error of kind Usage suggests the nearest.
DeviceKind device_kind_called(const std::string& word);

struct KnownDevices {
  std::vector<Device> devices;  // from small to large
  std::vector<std::string> warnings;
};
KnownDevices known_devices(const DeviceArguments& arguments);

}  // namespace assay::cli
