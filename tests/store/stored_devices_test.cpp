#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/device_report.h"
#include "assay/error.h"
#include "assay/machine_report.h"
#include "some_devices.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DevicesJson, AreReadWithEveryAlternative) {
  const Device device = some_devices()[1];
  EXPECT_EQ(device.kind, DeviceKind::SingleBoard);
  EXPECT_EQ(device.memory_bandwidth_gbps.size(), 3u);
  EXPECT_EQ(best(device.memory_bandwidth_gbps)->value, 5.56);
  EXPECT_EQ(best(device.memory_bandwidth_gbps)->source, "STREAM");
  EXPECT_EQ(peak_for(device, "int8")->precision, "fp32");
  EXPECT_TRUE(device.step_overhead_us.empty());
  ASSERT_EQ(device.caches.size(), 2u);
  EXPECT_EQ(device.caches[0].level, 1);
  EXPECT_FALSE(device.caches[0].shared_by);
  EXPECT_EQ(device.caches[1].shared_by, 4);
}

TEST(DevicesJson, OneMayBeLikeAnEarlierOneOrAKnownOne) {
  const Json variant = {{"id", "some-board-8gb"},
                        {"like", "some-board"},
                        {"memory_bytes", figure(8589934592)},
                        {"peaks", {{"int8", figure(99)}}}};
  const auto devices = parse_devices_json(document({whole_device(), variant}).dump(), "x.json");
  EXPECT_EQ(devices[1].id, "some-board-8gb");
  EXPECT_EQ(devices[1].name, "Some board");
  EXPECT_EQ(best(devices[1].memory_bytes)->value, 8589934592);
  EXPECT_EQ(peak_for(devices[1], "fp32")->figure.value, 48);
  EXPECT_EQ(peak_for(devices[1], "int8")->figure.value, 99);
  const auto known = some_devices();
  EXPECT_EQ(parse_devices_json(document({variant}).dump(), "x.json", known).size(), 1u);
}

TEST(DevicesJson, ComesBackAsItWas) {
  const std::string text = devices_json(some_devices(), {"a warning"});
  EXPECT_EQ(devices_json(parse_devices_json(text, "x.json"), {"a warning"}), text);
}

std::string refusal(const std::string& text) {
  return error_message(ErrorKind::BadInput, [&] { parse_devices_json(text, "x.json"); });
}

struct Damage {
  std::string path;
  Json value;
  std::string wanted;
};

TEST(DevicesJson, SaysWhichFieldOfWhichDeviceIsWrong) {
  const Json whole = document({small_device(), whole_device()});
  for (const auto& [path, value, wanted] : std::vector<Damage>{
           {"/devices/1/memory", 5, "'memory' is not known; there are id, name"},
           {"/devices/1/power_wats", 5, "'power_wats' is not known; did you mean 'power_watts'?"},
           {"/devices/1/memory_bytes/soruce", "x", "did you mean 'source'?"},
           {"/devices/1/memory_bytes", 4096, "memory_bytes: is not an object"},
           {"/devices/1/memory_bytes/value", "4 GB", "memory_bytes: 'value' is not a number"},
           {"/devices/1/memory_bytes/value", 0, "'value' is not a number above 0"},
           {"/devices/1/memory_bytes/value", -1, "'value' is not a number above 0"},
           {"/devices/1/memory_bytes/value", 1e30, "beyond any device"},
           {"/devices/1/memory_bytes/value", 4096.5, "'value' is 4096.5, not a whole number"},
           {"/devices/1/power_watts/value", 1e9, "power_watts: 'value' is 1e+09, beyond any"},
           {"/devices/1/memory_bytes/source", "", "memory_bytes: 'source' is empty"},
           {"/devices/1/memory_bytes/source", "a\nb", "'source' holds control characters"},
           {"/devices/1/memory_bytes/source", std::string(501, 'x'), "more than 500 characters"},
           {"/devices/1/memory_bytes/kind", "guessed", "it must be theoretical or measured"},
           {"/devices/1/memory_bandwidth_gbps", Json::array(), "the list is empty; null says"},
           {"/devices/1/memory_bandwidth_gbps/1/value", nullptr, "gbps[1]: 'value' is not"},
           {"/devices/1/memory_bandwidth_gbps/0/value", 25.6, "but its derivation gives 12.8"},
           {"/devices/1/peaks/fp32/value", 50, "peaks/fp32: 'value' is 50, but its derivation"},
           {"/devices/1/peaks/fp32/derived/ghz", -1, "derived: 'ghz' is not a number above 0"},
           {"/devices/1/peaks/fp32/derived/cpus", 4, "'cpus' is not known"},
           {"/devices/1/memory_bytes/derived", {{"cores", 1}}, "only peaks and bandwidths"},
           {"/devices/1/peaks/fp8", figure(1), "peaks: 'fp8' is not known; did you mean 'fp"},
           {"/devices/1/peaks", 48, "peaks: is not an object"},
           {"/devices/1/caches", 1, "caches: is not a list"},
           {"/devices/1/caches/0/level", 0, "caches[0]: 'level' is not 1 to 9"},
           {"/devices/1/caches/0/shared_by", 0, "'shared_by' is not 1 or more"},
           {"/devices/1/caches/0/bytes/value", 3, "caches[0]/bytes: 'value' is 3, beyond any"},
           {"/devices/1/kind", "single board", "did you mean 'single-board'?"},
           {"/devices/1/kind", 3, "'kind' is not text"},
           {"/devices/1/name", " ", "'name' is empty"},
           {"/devices/1/like", "some-chap", "'like': there is no device 'some-chap'; did you mean"},
       }) {
    Json damaged = whole;
    damaged[Json::json_pointer(path)] = value;
    EXPECT_THAT(refusal(damaged.dump()),
                AllOf(HasSubstr("x.json: device 'some-board': "), HasSubstr(wanted)))
        << path;
  }
}

TEST(DevicesJson, SaysWhatIsMissing) {
  Json device = whole_device();
  device["memory_bytes"].erase("source");
  EXPECT_THAT(refusal(document({device}).dump()),
              HasSubstr("x.json: device 'some-board': memory_bytes: 'source' is missing"));
  for (const char* key : {"name", "kind"}) {
    device = whole_device();
    device.erase(key);
    EXPECT_THAT(refusal(document({device}).dump()), HasSubstr("is missing")) << key;
  }
  device = whole_device();
  device.erase("id");
  EXPECT_THAT(refusal(document({device}).dump()), HasSubstr("x.json: devices[0]: 'id' is missing"));
}

TEST(DevicesJson, RefusesWhatIsNoListOfDevices) {
  EXPECT_THAT(refusal(""), HasSubstr("x.json: is empty"));
  EXPECT_THAT(refusal("[]"), HasSubstr("x.json: is not an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(refusal(R"({"schema": "assay.count/1"})"), HasSubstr("not a list of devices"));
  EXPECT_THAT(refusal(R"({"schema": "assay.devices/1"})"), HasSubstr("'devices' is missing"));
  EXPECT_THAT(refusal(document({}).dump()), HasSubstr("'devices' is empty"));
  EXPECT_THAT(refusal(R"({"schema": "assay.devices/1", "devices": {}})"), HasSubstr("not a list"));
  EXPECT_THAT(refusal(document({Json(5)}).dump()), HasSubstr("devices[0]: is not an object"));
  EXPECT_THAT(refusal(document({small_device(), small_device()}).dump()),
              HasSubstr("device 'some-chip': there are two of this id"));
  EXPECT_THAT(refusal(document(std::vector<Json>(1001, small_device())).dump()),
              HasSubstr("has 1001 devices, more than the 1000"));
}

TEST(DevicesJson, RefusesAnIdThatIsAwkwardToType) {
  Json device = small_device();
  device["id"] = "Some Chip";
  EXPECT_THAT(refusal(document({device}).dump()), HasSubstr("between words: 'some-chip'"));
}

TEST(DevicesJson, TellsLineAndColumnOfWhatIsNoJson) {
  EXPECT_THAT(refusal("{\n  \"schema\": oops}"), HasSubstr("line 2, column 13: this is not JSON"));
  EXPECT_THAT(refusal("{\"schema\": \"a\xe2\x82\"}"), HasSubstr("this is not UTF-8 text"));
  const std::string whole = document({small_device()}).dump();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("this is not JSON")) << size;
  }
  EXPECT_THAT(refusal(R"({"schema": 1e999})"), HasSubstr("too large for any use"));
}

TEST(DevicesJson, RefusesAKeyGivenTwice) {
  EXPECT_THAT(refusal(R"({"schema": "assay.devices/1", "schema": "assay.devices/1"})"),
              HasSubstr("'schema' is given twice"));
}

TEST(DevicesJson, RefusesTooDeepAndTooMuch) {
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("nested more than 16 deep"));
  EXPECT_THAT(refusal(std::string((4 << 20) + 1, ' ')), HasSubstr("more than the 4.00 MiB"));
}

// --- files

class DeviceFile : public InScratchFolder {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& text) {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(DeviceFile, MayHoldDevices) {
  const auto path = put("assay-devices.json", document({small_device()}).dump());
  EXPECT_EQ(read_device_file(path)[0].id, "some-chip");
}

TEST_F(DeviceFile, MayBeAMeasuredMachineNamedAfterTheFile) {
  Machine machine;
  machine.topology.processor = "Cortex-A76";
  machine.ceilings = {.peaks = {{"fp32", "NEON", 4, 140}},
                      .bandwidths = {{"DRAM", "read", 4, 1, 9.5}},
                      .seconds = 3};
  const auto devices = read_device_file(put("Kitchen Pi.json", machine_json(machine)));
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].id, "kitchen-pi");
  EXPECT_EQ(devices[0].name, "Cortex-A76");
  EXPECT_EQ(best(devices[0].memory_bandwidth_gbps)->value, 9.5);
}

TEST_F(DeviceFile, OfAMachineWithAGpuHasBoth) {
  Machine machine;
  machine.topology.processor = "Cortex-A76";
  machine.gpu =
      Gpu{.name = "Some GPU",
          .multiprocessors = 8,
          .cache_bytes = 1 << 20,
          .memory_bytes = 1 << 30,
          .ceilings = {.peaks = {{"fp32", "CUDA cores", 1, 9000},
                                 {"fp16", "tensor cores", 1, 40000},
                                 {"fp16", "cuBLASLt", 1, 50000}},
                       .bandwidths = {{"HBM", "read", 1, 1, 700}, {"L2", "read", 1, 1, 2000}},
                       .seconds = 2}};
  const auto devices = read_device_file(put("Desk.json", machine_json(machine)));
  ASSERT_EQ(devices.size(), 2u);
  const Device& gpu = devices[1];
  EXPECT_EQ(gpu.id, "desk-gpu");
  EXPECT_EQ(gpu.name, "Some GPU");
  EXPECT_EQ(gpu.kind, DeviceKind::Gpu);
  EXPECT_EQ(best(gpu.memory_bandwidth_gbps)->value, 700);
  EXPECT_EQ(best(gpu.memory_bytes)->value, 1 << 30);
  EXPECT_EQ(peak_for(gpu, "fp32")->figure.value, 9000);
  EXPECT_EQ(peak_for(gpu, "fp16")->figure.value, 50000);
}

TEST_F(DeviceFile, ThatIsMissingOrHugeIsRefused) {
  EXPECT_THROW(read_device_file("/nowhere/x.json"), Error);
  EXPECT_THROW(read_device_file(put("assay-huge.json", std::string(5 << 20, ' '))), Error);
  EXPECT_THROW(read_device_file(put("assay-empty.json", "")), Error);
}

}  // namespace
}  // namespace assay
