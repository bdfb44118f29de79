// The catalogue that is part of the program: complete, sourced, and right in its arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/device_report.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every figure of a device, with the name of its field.
std::vector<std::pair<std::string, Figure>> all_figures(const Device& device) {
  std::vector<std::pair<std::string, Figure>> all;
  const auto add = [&](const std::string& field, const Figures& figures) {
    for (const Figure& figure : figures) all.emplace_back(device.id + " " + field, figure);
  };
  add("cores", device.cores);
  add("memory", device.memory_bytes);
  add("flash", device.flash_bytes);
  add("bandwidth", device.memory_bandwidth_gbps);
  add("power", device.power_watts);
  add("idle", device.idle_watts);
  for (const auto& [precision, figures] : device.peaks) add(precision, figures);
  for (const DeviceCache& cache : device.caches) add("cache", cache.bytes);
  return all;
}

TEST(Catalogue, HasDevicesOfEveryKind) {
  const auto devices = built_in_devices();
  EXPECT_GE(devices.size(), 32u);
  std::set<DeviceKind> kinds;
  for (const Device& device : devices) kinds.insert(device.kind);
  EXPECT_EQ(kinds.size(), 8u);  // all but measured machines
}

TEST(Catalogue, NamesASourceForEveryFigureAndADocumentNotOurNotes) {
  for (const Device& device : built_in_devices()) {
    EXPECT_FALSE(device.description.empty()) << device.id;
    for (const auto& [field, figure] : all_figures(device)) {
      EXPECT_GE(figure.source.size(), 6u) << field;
      EXPECT_THAT(figure.source, Not(HasSubstr("REFERENCES"))) << field;
    }
  }
}

TEST(Catalogue, DerivesItsFiguresRightly) {
  int derived = 0;
  for (const Device& device : built_in_devices()) {
    for (const auto& [field, figure] : all_figures(device)) {
      if (!figure.derived) continue;
      ++derived;
      EXPECT_NEAR(figure.derived->value() / figure.value, 1, 0.01) << field;
    }
  }
  EXPECT_GE(derived, 60);
}

TEST(Catalogue, SaysWhichPowerItMeans) {
  for (const Device& device : built_in_devices()) {
    for (const Figure& figure : device.power_watts) EXPECT_FALSE(figure.note.empty()) << device.id;
  }
}

TEST(Catalogue, NarrowerNumbersAreNeverSlower) {
  for (const Device& device : built_in_devices()) {
    const auto fp32 = peak_for(device, "fp32");
    if (!fp32) continue;
    for (const char* precision : {"fp16", "bf16", "int8"}) {
      EXPECT_GE(peak_for(device, precision)->figure.value, fp32->figure.value)
          << device.id << " " << precision;
    }
  }
}

struct Known {
  const char* id = "";
  double gbps = 0;
  double fp32 = 0;
  double watts = 0;
};

TEST(Catalogue, HasTheFiguresEverybodyQuotes) {
  const auto devices = built_in_devices();
  for (const Known& known : {Known{"raspberry-pi-4-4gb", 5.56, 48, 7.2},
                             {"raspberry-pi-5-8gb", 17.1, 154, 11},
                             {"raspberry-pi-zero-2", 4, 32, 2.1},
                             {"jetson-nano", 25.6, 236, 10},
                             {"jetson-orin-super", 102, 2100, 25},
                             {"a100-40gb", 1555, 19500, 400},
                             {"h100-sxm", 3350, 67000, 700},
                             {"h200", 4800, 67000, 700}}) {
    const Device& device = find_device(devices, known.id);
    EXPECT_EQ(best(device.memory_bandwidth_gbps)->value, known.gbps) << known.id;
    EXPECT_EQ(peak_for(device, "fp32")->figure.value, known.fp32) << known.id;
    EXPECT_EQ(best(device.power_watts)->value, known.watts) << known.id;
  }
}

TEST(Catalogue, KeepsEveryAlternativeOfTheRaspberryPi4) {
  const auto devices = built_in_devices();
  std::vector<double> values;
  for (const Figure& figure : find_device(devices, "raspberry-pi-4-1gb").memory_bandwidth_gbps) {
    values.push_back(figure.value);
  }
  EXPECT_THAT(values, ::testing::ElementsAre(5.56, 12.8, 4.3));
}

TEST(Catalogue, FitsATerminalWithoutShortenedNames) {
  auto devices = built_in_devices();
  sort_devices(devices);
  EXPECT_THAT(devices_table(devices), Not(HasSubstr("…")));
}

TEST(Catalogue, ComesBackFromItsOwnJson) {
  const auto devices = built_in_devices();
  const std::string text = devices_json(devices);
  EXPECT_EQ(devices_json(parse_devices_json(text, "x.json")), text);
}

}  // namespace
}  // namespace assay
