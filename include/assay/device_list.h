// A list of devices: finding one by its id, adding your own, order from small to large.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/device.h"

namespace assay {

// Any text as an id: lower case, one '-' for whatever lies between letters and digits.
std::string device_id(std::string_view text);

// By id, in upper or lower case. An unknown one is an Error that names the nearest.
const Device& find_device(std::span<const Device> devices, std::string_view id);

// Kinds from microcontroller to GPU; within a kind by bandwidth, then memory, then as they were.
void sort_devices(std::vector<Device>& devices);

// Adds them, each in place of one with the same id; returns a warning for each that was replaced.
std::vector<std::string> merge_devices(std::vector<Device>& devices, std::vector<Device> more,
                                       const std::string& described_as);

}  // namespace assay
