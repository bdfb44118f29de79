// The text of data/devices.json, which the build makes part of the program.
#pragma once

#include <string>

namespace assay::store {

std::string device_catalogue_text();

}  // namespace assay::store
