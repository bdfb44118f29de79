// Files of devices: the built-in catalogue, and your own in the same form.
// docs/devices.md describes the form. A file may be anything: what is wrong with it is an Error
// that names the file, the device and the field.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/device.h"

namespace assay {

// A device may be `like` an earlier one of the same text, or one of `known`.
std::vector<Device> parse_devices_json(std::string_view text, const std::string& described_as,
                                       std::span<const Device> known = {});

// A file of devices, or what `assay machine --json` printed: then the device has the file's name,
// without its ending, as its id.
std::vector<Device> read_device_file(const std::filesystem::path& path,
                                     std::span<const Device> known = {});

std::vector<Device> built_in_devices();

}  // namespace assay
