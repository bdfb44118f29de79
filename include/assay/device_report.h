// Devices as people and programs read them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/device.h"
#include "assay/layout.h"

namespace assay {

std::string devices_table(std::span<const Device> devices,
                          const Layout& layout = {});      // a line each, the best figures
std::string device_text(const Device& device);             // one in full, with every source
std::string devices_csv(std::span<const Device> devices);  // the best figures and their sources

// Every figure, best first, in the form that parse_devices_json reads.
std::string devices_json(std::span<const Device> devices,
                         const std::vector<std::string>& warnings = {});

}  // namespace assay
