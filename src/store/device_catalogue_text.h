// The text of data/devices.json, which the build compiles into the program.
#pragma once

#include <string>

namespace assay::store {

std::string device_catalogue_text();

}  // namespace assay::store
