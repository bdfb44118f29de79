#include "assay/device_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "golden.h"
#include "store/some_devices.h"

namespace assay {
namespace {

TEST(DeviceReports, ArePinned) {
  const auto devices = some_devices();
  expect_golden("devices.txt", devices_table(devices));
  expect_golden("device.txt", device_text(devices[1]));
  expect_golden("devices.json", devices_json(devices));
  expect_golden("devices.csv", devices_csv(devices));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
    widest = std::max<std::size_t>(widest, std::ranges::count_if(line, is_start));
  }
  return widest;
}

TEST(DeviceReports, FitATerminalWhateverTheNames) {
  auto devices = some_devices();
  devices[0].id = std::string(100, 'i');
  devices[0].name = std::string(100, 'n');
  devices[0].description = "a " + std::string(60, 'd') + " b " + std::string(60, 'e');
  EXPECT_LE(widest_line(devices_table(devices)), 80u);
  EXPECT_LE(widest_line(device_text(devices[1])), 80u);
}

}  // namespace
}  // namespace assay
