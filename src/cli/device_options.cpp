#include "cli/device_options.h"

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::cli {

void add_device_options(Command& command, DeviceArguments& arguments) {
  command.heading("Devices");
  command
      .add_option("--device-file FILE", arguments.files,
                  "your own devices, or the output of 'assay machine --json' (repeatable)")
      ->one_value_each();
}

DeviceKind device_kind_called(const std::string& word) {
  if (const auto kind = device_kind(word)) return *kind;
  const auto known = device_kind_names();
  const auto near = nearest(word, known);
  fail_usage("--kind {}: there is no such kind; {}", word,
             near ? "did you mean '" + *near + "'?" : "there are " + join(known, ", "));
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
