// A GPU whose ceilings `assay machine` measured, as a device beside those of the catalogue.
#pragma once

#include <string>

#include "assay/device.h"
#include "assay/machine.h"

namespace assay {

Device device_from_gpu(const Gpu& gpu, const std::string& id);

}  // namespace assay
