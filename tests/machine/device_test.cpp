#include "assay/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/device_list.h"
#include "assay/error.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Figure theoretical(double value) {
  return {.value = value, .source = "datasheet"};
}

Figure measured(double value) {
  return {.value = value, .source = "STREAM", .provenance = FigureProvenance::Measured};
}

Device device(const std::string& id, DeviceKind kind, double gbps, double bytes) {
  Device made{.id = id, .name = id, .kind = kind};
  if (gbps > 0) made.memory_bandwidth_gbps = {theoretical(gbps)};
  if (bytes > 0) made.memory_bytes = {theoretical(bytes)};
  return made;
}

TEST(Figures, MeasuredBeatsTheoreticalAndTheFirstWinsAmongEquals) {
  EXPECT_FALSE(best({}));
  EXPECT_EQ(best({theoretical(12.8), theoretical(4.3)})->value, 12.8);
  EXPECT_EQ(best({theoretical(12.8), measured(5.56), measured(5.1)})->value, 5.56);
  EXPECT_EQ(ranked({theoretical(12.8), measured(5.56), theoretical(4.3)})[2].value, 4.3);
}

TEST(Derivation, IsAProductOfItsParts) {
  const Derivation cores{.kind = Derivation::Kind::Compute, .units = 4, .ghz = 1.5, .per_cycle = 8};
  EXPECT_DOUBLE_EQ(cores.value(), 4 * 1.5 * 8);
  const Derivation bus{.kind = Derivation::Kind::Bus, .units = 32, .ghz = 3.2};
  EXPECT_DOUBLE_EQ(bus.value(), 32.0 / 8 * 3.2);
}

TEST(PeakFor, FallsBackToFp32AndSaysSo) {
  Device some;
  some.peaks["fp32"] = {theoretical(48)};
  some.peaks["int8"] = {theoretical(614)};
  EXPECT_EQ(peak_for(some, "int8")->precision, "int8");
  EXPECT_EQ(peak_for(some, "fp16")->precision, "fp32");
  EXPECT_EQ(peak_for(some, "fp16")->figure.value, 48);
}

TEST(PeakFor, OfAnInt8AcceleratorHasNoFp32) {
  Device coral;
  coral.peaks["int8"] = {theoretical(4000)};
  EXPECT_FALSE(peak_for(coral, "fp32"));
  EXPECT_FALSE(peak_for(coral, "fp16"));
  EXPECT_EQ(peak_for(coral, "int8")->figure.value, 4000);
}

TEST(DeviceKinds, RoundTripThroughTheirNames) {
  ASSERT_EQ(device_kind_names().size(), 9u);
  for (const std::string& word : device_kind_names()) EXPECT_EQ(name(*device_kind(word)), word);
  EXPECT_EQ(device_kind("single-board"), DeviceKind::SingleBoard);
  EXPECT_FALSE(device_kind("toaster"));
}

TEST(DeviceId, IsLowerCaseWithDashesBetweenWords) {
  EXPECT_EQ(device_id("Intel(R) Xeon(R) @ 2.80GHz"), "intel-r-xeon-r-2-80ghz");
  EXPECT_EQ(device_id("--a__B--"), "a-b");
  EXPECT_EQ(device_id("π"), "");
}

std::string refusal(const std::vector<Device>& devices, const std::string& id) {
  return error_message(ErrorKind::BadInput, [&] { find_device(devices, id); });
}

TEST(FindDevice, ForgivesCaseAndNamesTheNearest) {
  const std::vector<Device> devices = {device("pi-4-1gb", DeviceKind::SingleBoard, 5, 1),
                                       device("pi-4-8gb", DeviceKind::SingleBoard, 5, 8),
                                       device("h200", DeviceKind::Gpu, 4800, 141)};
  EXPECT_EQ(find_device(devices, "Pi_4 8GB").id, "pi-4-8gb");
  EXPECT_THAT(refusal(devices, "h20"), HasSubstr("there is h200"));
  EXPECT_THAT(refusal(devices, "h300"), HasSubstr("did you mean 'h200'?"));
  EXPECT_THAT(refusal(devices, "pi-4"), HasSubstr("there are pi-4-1gb, pi-4-8gb"));
  EXPECT_THAT(refusal(devices, "something else"), HasSubstr("`built_in_devices` lists them"));
  EXPECT_THAT(refusal(devices, ""), HasSubstr("there is no device ''"));
  EXPECT_THAT(refusal({}, "h200"), HasSubstr("there is no device 'h200'"));
}

std::vector<std::string> ids(const std::vector<Device>& devices) {
  std::vector<std::string> all;
  for (const Device& one : devices) all.push_back(one.id);
  return all;
}

TEST(SortDevices, GoesFromSmallToLargeWithTheUnknownLast) {
  std::vector<Device> devices = {device("gpu", DeviceKind::Gpu, 300, 24),
                                 device("board-no-bandwidth", DeviceKind::SingleBoard, 0, 1),
                                 device("board-8gb", DeviceKind::SingleBoard, 5, 8),
                                 device("board-4gb", DeviceKind::SingleBoard, 5, 4),
                                 device("board-slow", DeviceKind::SingleBoard, 4, 16),
                                 device("mcu", DeviceKind::Microcontroller, 400, 1)};
  sort_devices(devices);
  EXPECT_THAT(ids(devices), ElementsAre("mcu", "board-slow", "board-4gb", "board-8gb",
                                        "board-no-bandwidth", "gpu"));
}

TEST(MergeDevices, ReplacesOneOfTheSameIdAndWarns) {
  std::vector<Device> devices = {device("a", DeviceKind::Gpu, 1, 1)};
  const auto warnings = merge_devices(
      devices, {device("a", DeviceKind::Gpu, 2, 1), device("b", DeviceKind::Gpu, 3, 1)}, "my.json");
  EXPECT_THAT(ids(devices), ElementsAre("a", "b"));
  EXPECT_EQ(devices[0].memory_bandwidth_gbps[0].value, 2);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("my.json: its device 'a' is used instead"));
}

Machine some_machine() {
  Machine machine;
  machine.measured_at = "2026-11-15T20:51:49Z";
  machine.topology.processor = "Some Processor";
  machine.topology.cores = 4;
  machine.topology.processors = 8;
  machine.topology.memory_bytes = 8000;
  machine.topology.caches = {{1, 32768, 2}, {2, 1048576, 8}};
  machine.ceilings.peaks = {{"fp32", "baseline", 4, 20},
                            {"fp32", "AVX2 FMA", 4, 100},
                            {"fp32", "AVX2 FMA", 1, 30},
                            {"int8", "AVX2", 1, 60}};
  machine.ceilings.bandwidths = {{"L1", "read", 4, 1, 400},
                                 {"DRAM", "read", 1, 1, 9},
                                 {"DRAM", "read", 4, 1, 17},
                                 {"DRAM", "copy", 4, 1, 21}};
  return machine;
}

TEST(DeviceFromMachine, HasTheFiguresOfAllThreadsTogether) {
  const Device made = device_from_machine(some_machine());
  EXPECT_EQ(made.id, "some-processor");
  EXPECT_EQ(made.name, "Some Processor");
  EXPECT_EQ(made.kind, DeviceKind::Machine);
  EXPECT_EQ(best(made.memory_bytes)->value, 8000);
  EXPECT_EQ(best(made.memory_bandwidth_gbps)->value, 17);
  EXPECT_EQ(peak_for(made, "fp32")->figure.value, 100);
  // int8 was measured on one thread only: nothing is known of four.
  EXPECT_EQ(peak_for(made, "int8")->precision, "fp32");
  ASSERT_EQ(made.caches.size(), 2u);
  EXPECT_EQ(best(made.caches[0].bandwidth_gbps)->value, 400);
  EXPECT_EQ(made.caches[0].shared_by, 1);  // two hardware threads, one core
  EXPECT_EQ(made.caches[1].shared_by, 4);
  EXPECT_FALSE(best(made.caches[1].bandwidth_gbps));
}

TEST(DeviceFromMachine, TakesOneThreadsRateWhereAllWereMeasuredSlower) {
  Machine machine = some_machine();
  for (Bandwidth& one : machine.ceilings.bandwidths) {
    if (one.level == "DRAM" && one.access == "read" && one.threads == 1) one.gbps = 20;
  }
  EXPECT_EQ(best(device_from_machine(machine).memory_bandwidth_gbps)->value, 20);
}

TEST(DeviceFromMachine, SaysHowEachFigureWasMeasured) {
  const Device made = device_from_machine(some_machine(), "Kitchen Pi");
  EXPECT_EQ(made.id, "kitchen-pi");
  for (const Figures& figures : {made.cores, made.memory_bytes, made.memory_bandwidth_gbps}) {
    EXPECT_EQ(best(figures)->provenance, FigureProvenance::Measured);
    EXPECT_THAT(best(figures)->source, HasSubstr("assay machine, 2026-11-15T20:51:49Z"));
  }
  EXPECT_THAT(best(made.memory_bandwidth_gbps)->source, HasSubstr("4 threads"));
  EXPECT_FALSE(best(made.power_watts));
}

TEST(DeviceFromMachine, OfAMachineWithoutFiguresInventsNone) {
  const Device made = device_from_machine({}, "empty");
  EXPECT_FALSE(best(made.memory_bytes));
  EXPECT_FALSE(best(made.memory_bandwidth_gbps));
  EXPECT_TRUE(made.peaks.empty());
}

}  // namespace
}  // namespace assay
