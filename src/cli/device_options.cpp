#include "cli/device_options.h"

#include "assay/device_file.h"
#include "assay/device_list.h"

namespace assay::cli {

void add_device_options(CLI::App& command, DeviceArguments& arguments) {
  command
      .add_option("--device-file", arguments.files,
                  "devices of one's own, or what 'assay machine --json' printed; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

KnownDevices known_devices(const DeviceArguments& arguments) {
  KnownDevices known{.devices = built_in_devices(), .warnings = {}};
  for (const std::string& file : arguments.files) {
    const auto warnings = merge_devices(known.devices, read_device_file(file, known.devices), file);
    known.warnings.insert(known.warnings.end(), warnings.begin(), warnings.end());
  }
  sort_devices(known.devices);
  return known;
}

}  // namespace assay::cli
