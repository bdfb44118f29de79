// A machine with what is wrong with its figures, and devices that Python describes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/device.h"
#include "assay/machine.h"

namespace assay::python {

struct ChosenMachine {
  Machine machine;
  std::vector<std::string> warnings;
};

// The devices and those of a text in the form of device files, which is empty where there is none.
std::vector<Device> with_described_devices(std::vector<Device> devices,
                                           const std::string& described);
std::vector<Device> devices_named(std::span<const Device> devices,
                                  const std::vector<std::string>& ids);

}  // namespace assay::python
