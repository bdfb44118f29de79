#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/energy/pmic.h"
#include "machine/energy_simulation.h"
#include "support/scratch_folder.h"

namespace assay {

using namespace assay::machine;

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeFiles;
using testing::FakePace;
using ::testing::HasSubstr;

class Meters : public ::testing::Test {
 protected:
  EnergyMeters find() { return find_energy_meters(sources_); }

  void put_zone(const std::string& zone, const std::string& name, const std::string& energy) {
    const std::string folder = "/sys/class/powercap/" + zone;
    files_->put(folder + "/name", name + "\n");
    files_->put(folder + "/energy_uj", energy);
    files_->put(folder + "/max_energy_range_uj", "262143328850\n");
  }
  // Microjoules at so many watts, from now on.
  void put_running_zone(const std::string& zone, const std::string& name, double watts) {
    put_zone(zone, name, "0");
    files_->put("/sys/class/powercap/" + zone + "/energy_uj", [this, watts] {
      return FileText{.text = std::to_string(std::llround(pace_.seconds() * watts * 1e6)) + "\n"};
    });
  }
  void put_rail(int number, const std::string& label, int millivolts, int milliamperes) {
    const std::string folder = "/sys/class/hwmon/hwmon3/";
    const std::string digit = std::to_string(number);
    files_->put(folder + "name", "ina3221\n");
    files_->put(folder + "in" + digit + "_label", label + "\n");
    files_->put(folder + "in" + digit + "_input", std::to_string(millivolts) + "\n");
    files_->put(folder + "curr" + digit + "_input", std::to_string(milliamperes) + "\n");
  }
  EnergyReading read_for(EnergyMeter& meter, double seconds) {
    EnergyWindow window(meter, pace_);
    pace_.pass(seconds);
    return window.finish();
  }

  FakePace pace_;
  std::shared_ptr<FakeFiles> files_ = std::make_shared<FakeFiles>();
  MeterSources sources_ = {.files = files_};
};

TEST_F(Meters, WithoutAnyMeterSayWhatIsMissing) {
  const EnergyMeters found = find();
  EXPECT_THAT(found.meters, ElementsAre());
  EXPECT_EQ(primary_meter(found), nullptr);
  EXPECT_THAT(found.notes, ElementsAre());
  EXPECT_THAT(why_no_meter(found), AllOf(HasSubstr("no RAPL"), HasSubstr("no hwmon power sensor"),
                                         HasSubstr("no INA3221"), HasSubstr("no Raspberry Pi"),
                                         HasSubstr("no libnvidia-ml.so.1")));
}

TEST_F(Meters, RaplAddsTwoPackagesAndListsTheirParts) {
  put_running_zone("intel-rapl:0", "package-0", 5);
  put_running_zone("intel-rapl:0:0", "core", 3);
  put_running_zone("intel-rapl:0:1", "dram", 1);
  put_running_zone("intel-rapl:1", "package-1", 7);
  put_running_zone("intel-rapl:2", "psys", 40);
  put_running_zone("intel-rapl-mmio:0", "package-0", 5);
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "package-0 + package-1");
  const EnergyReading reading = read_for(*found.meters[0], 10);
  EXPECT_EQ(reading.gross_j, (5.0 + 7.0) * 10);
  ASSERT_EQ(reading.channels.size(), 5u);
  EXPECT_EQ(reading.channels[2].name, "package-0 dram");
  EXPECT_EQ(reading.channels[2].joules, 10);
  EXPECT_FALSE(reading.channels[2].is_counted);
}

TEST_F(Meters, RaplForRootOnlyLeavesOneNoteWithWhatToTry) {
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"}) {
    put_zone(zone, "package-0", "1");
    files_->deny("/sys/class/powercap/" + std::string(zone) + "/energy_uj");
  }
  const EnergyMeters found = find();
  EXPECT_THAT(found.meters, ElementsAre());
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_THAT(found.notes[0],
              AllOf(HasSubstr("root only"), HasSubstr("2 more likewise"),
                    HasSubstr("sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj")));
  EXPECT_EQ(why_no_meter(found), found.notes[0]);
}

TEST_F(Meters, WithDamagedContentAreLeftOutWithANote) {
  put_zone("intel-rapl:0", "package-0", "12345\n");
  put_zone("intel-rapl:1", "package-1", "soon\n");
  files_->put("/sys/class/hwmon/hwmon0/power1_input", "");
  files_->put("/sys/class/hwmon/hwmon1/power1_input", "-5\n");
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "package-0");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("contains 'soon', which is not a count"),
                                       HasSubstr("is empty"), HasSubstr("contains '-5'")));
}

TEST_F(Meters, NameAFileThatDisappearsAndKeepTheRest) {
  put_running_zone("intel-rapl:0", "package-0", 5);
  put_running_zone("intel-rapl:1", "package-1", 7);
  const EnergyMeters found = find();
  EnergyWindow window(*found.meters[0], pace_);
  pace_.pass(4);
  files_->remove("/sys/class/powercap/intel-rapl:1/energy_uj");
  pace_.pass(6);
  const EnergyReading reading = window.finish();
  EXPECT_FALSE(reading.gross_j);
  EXPECT_EQ(reading.channels[0].joules, 50);
  EXPECT_FALSE(reading.channels[1].joules);
  ASSERT_NE(testing::find_flag(reading, "unread"), nullptr);
  EXPECT_THAT(testing::find_flag(reading, "unread")->message,
              HasSubstr("intel-rapl:1/energy_uj' is gone"));
}

TEST_F(Meters, HwmonReadsTheInputOrElseTheAverage) {
  const std::string folder = "/sys/class/hwmon/hwmon2/";
  files_->put(folder + "name", "power_meter\n");
  files_->put(folder + "power1_average", "5000000\n");
  files_->put(folder + "power2_average", "9000000\n");
  files_->put(folder + "power2_input", "3000000\n");
  files_->put(folder + "power2_label", "fans\n");
  files_->put(folder + "power1_cap", "70000000\n");
  files_->put(folder + "update_interval", "50\n");
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  const MeterInfo& info = found.meters[0]->info();
  EXPECT_EQ(covers(info), "power_meter power1 + power_meter fans");
  EXPECT_EQ(info.scope, MeterScope::Board);
  EXPECT_EQ(info.update_ms, 50);
  EXPECT_EQ(read_for(*found.meters[0], 10).gross_j, (5.0 + 3.0) * 10);
}

TEST_F(Meters, HwmonCountsTheTotalAloneWhereOneIsLabelledSo) {
  const std::string folder = "/sys/class/hwmon/hwmon2/";
  files_->put(folder + "name", "corsairpsu\n");
  files_->put(folder + "power1_input", "50000000\n");
  files_->put(folder + "power1_label", "power total\n");
  files_->put(folder + "power2_input", "40000000\n");
  files_->put(folder + "power2_label", "power +12v\n");
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(read_for(*found.meters[0], 10).gross_j, 50 * 10);
}

TEST_F(Meters, Ina3221CountsTheRailThatFeedsAllOthers) {
  put_rail(1, "VDD_IN", 5000, 1000);
  put_rail(2, "VDD_CPU_GPU_CV", 5000, 400);
  put_rail(3, "NC", 5000, 400);
  files_->put("/sys/class/hwmon/hwmon3/in4_input", "20\n");  // a shunt
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "VDD_IN");
  const EnergyReading reading = read_for(*found.meters[0], 10);
  EXPECT_EQ(reading.gross_j, 5.0 * 1.0 * 10);
  ASSERT_EQ(reading.channels.size(), 2u);
  EXPECT_EQ(reading.channels[1].joules, 5.0 * 0.4 * 10);
  EXPECT_THAT(found.notes, ElementsAre());
}

TEST_F(Meters, Ina3221WithoutSuchARailAddsThemAll) {
  put_rail(1, "VDD_GPU_SOC", 10000, 200);
  put_rail(2, "VDD_CPU_CV", 10000, 300);
  put_rail(3, "VDDQ_VDD2_1V8AO", 5000, -8);  // fed by another; no load
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  const EnergyReading reading = read_for(*found.meters[0], 10);
  EXPECT_EQ(reading.gross_j, (2.0 + 3.0) * 10);
  EXPECT_DOUBLE_EQ(reading.channels.at(2).joules.value(), 5.0 * -0.008 * 10);
}

TEST_F(Meters, Ina3221LeavesOutARailWithoutItsCurrent) {
  put_rail(1, "VDD_GPU_SOC", 10000, 200);
  put_rail(2, "VDD_CPU_CV", 10000, 300);
  files_->remove("/sys/class/hwmon/hwmon3/curr2_input");
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "VDD_GPU_SOC");
  EXPECT_THAT(found.notes, ElementsAre(AllOf(HasSubstr("VDD_CPU_CV"), HasSubstr("curr2_input"))));
}

TEST_F(Meters, Ina3221IsReadThroughTheOlderDriver) {
  const std::string folder = "/sys/bus/iio/devices/iio:device0/";
  files_->put(folder + "rail_name_0", "POM_5V_IN\n");
  files_->put(folder + "in_power0_input", "5000\n");
  files_->put(folder + "rail_name_1", "POM_5V_GPU\n");
  files_->put(folder + "in_power1_input", "1000\n");
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(read_for(*found.meters[0], 10).gross_j, 50);
}

constexpr const char* kPmic =
    "  3V7_WL_SW_A current(0)=0.50000000A\n"
    "     VDD_CORE_A current(7)=2.00000000A\n"
    "  3V7_WL_SW_V volt(8)=4.00000000V\n"
    "     VDD_CORE_V volt(15)=1.50000000V\n"
    "     EXT5V_V volt(24)=5.10000000V\n";

TEST_F(Meters, PmicMultipliesVoltsAndAmperes) {
  files_->put("/proc/device-tree/model", std::string("Raspberry Pi 5 Model B Rev 1.0\0", 31));
  sources_.run_pmic = [] { return kPmic; };
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "3V7_WL_SW + VDD_CORE");
  EXPECT_EQ(read_for(*found.meters[0], 10).gross_j, (0.5 * 4 + 2 * 1.5) * 10);
  EXPECT_THAT(found.notes, ElementsAre());
}

TEST_F(Meters, PmicThatCannotBeRunSaysWhatToTry) {
  files_->put("/proc/device-tree/model", "Raspberry Pi 5 Model B");
  sources_.run_pmic = [] { return std::nullopt; };
  EXPECT_THAT(why_no_meter(find()), HasSubstr("group video"));
  sources_.run_pmic = [] { return "error=1 error_msg=\"Command not registered\""; };
  EXPECT_THAT(why_no_meter(find()), HasSubstr("reports no rails"));
}

TEST_F(Meters, PmicThatStopsReportingHasNoJoules) {
  files_->put("/proc/device-tree/model", "Raspberry Pi 5 Model B");
  std::optional<std::string> text = kPmic;
  sources_.run_pmic = [&] { return text; };
  const EnergyMeters found = find();
  EnergyWindow window(*found.meters.at(0), pace_);
  text = {};
  pace_.pass(10);
  EXPECT_FALSE(window.finish().gross_j);
}

TEST(Pmic, LeavesOutWhatIsIncompleteOrDamaged) {
  const PmicPowers powers = parse_pmic(
      "A_A current(0)=1A\nA_V volt(1)=2V\r\nB_A current(2)=1A\nC_A current(3)=xA\nC_V volt(4)=1V\n"
      "D_A current(5)=nanA\nD_V volt(6)=1V\nE_A current(7)=1e9A\nE_V volt(8)=1V\n\n_A\n= =\n");
  EXPECT_EQ(powers.microwatts, (std::map<std::string, std::int64_t>{{"A", 2'000'000}}));
  EXPECT_THAT(powers.incomplete, ElementsAre("B", "C", "D", "E"));
}

// NVML as a library might be: two GPUs, of which the second counts no energy.
struct FakeNvml {
  static inline int init_code = 0;
  static inline unsigned long long millijoules = 0;
  static int init() { return init_code; }
  static int count(unsigned* devices) {
    *devices = 2;
    return 0;
  }
  static int device(unsigned index, void** device) {
    static int gpus[2] = {};
    *device = &gpus[index];
    is_second = index == 1;
    return 0;
  }
  static int energy(void*, unsigned long long* value) {
    *value = millijoules;
    return is_second ? 3 : 0;
  }
  static const char* words(int code) { return code == 3 ? "Not Supported" : "Driver Not Loaded"; }
  static inline bool is_second = false;

  static void* find(std::string_view symbol) {
    if (symbol == "nvmlInit_v2") return reinterpret_cast<void*>(&init);
    if (symbol == "nvmlDeviceGetCount_v2") return reinterpret_cast<void*>(&count);
    if (symbol == "nvmlDeviceGetHandleByIndex_v2") return reinterpret_cast<void*>(&device);
    if (symbol == "nvmlDeviceGetTotalEnergyConsumption") return reinterpret_cast<void*>(&energy);
    if (symbol == "nvmlErrorString") return reinterpret_cast<void*>(&words);
    return nullptr;
  }
};

TEST_F(Meters, NvmlIsAMeterForEachGpuThatCounts) {
  FakeNvml::init_code = 0;
  FakeNvml::millijoules = 7000;
  sources_.load_library = [](const char*) -> FindSymbol { return FakeNvml::find; };
  const EnergyMeters found = find();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]->info()), "GPU 0");
  EXPECT_THAT(found.notes, ElementsAre(AllOf(HasSubstr("GPU 1"), HasSubstr("Not Supported"))));
  EXPECT_EQ(primary_meter(found), nullptr) << "a GPU does not measure the processor";
  EnergyWindow window(*found.meters[0], pace_);
  pace_.pass(10);
  FakeNvml::millijoules += 50'000;
  EXPECT_EQ(window.finish().gross_j, 50);
}

TEST_F(Meters, NvmlThatCannotStartReportsItsError) {
  FakeNvml::init_code = 9;
  sources_.load_library = [](const char*) -> FindSymbol { return FakeNvml::find; };
  EXPECT_THAT(find().notes, ElementsAre(HasSubstr("Driver Not Loaded")));
  sources_.load_library = [](const char*) -> FindSymbol {
    return [](const char*) { return static_cast<void*>(nullptr); };
  };
  EXPECT_THAT(find().notes, ElementsAre(HasSubstr("counts no energy")));
}

TEST_F(Meters, AreChosenInADocumentedOrder) {
  const auto primary = [&] {
    const EnergyMeters found = find();
    return covers(primary_meter(found)->info());
  };
  files_->put("/sys/class/hwmon/hwmon0/name", "amdgpu\n");
  files_->put("/sys/class/hwmon/hwmon0/power1_average", "9000000\n");
  EXPECT_EQ(primary_meter(find()), nullptr) << "a GPU does not measure the processor";
  files_->put("/sys/class/hwmon/hwmon1/name", "ina226\n");
  files_->put("/sys/class/hwmon/hwmon1/power1_input", "9000000\n");
  EXPECT_EQ(primary(), "ina226 power1");
  files_->put("/sys/class/hwmon/hwmon2/name", "power_meter\n");
  files_->put("/sys/class/hwmon/hwmon2/power1_average", "9000000\n");
  EXPECT_EQ(primary(), "power_meter power1");
  put_rail(1, "VDD_IN", 5000, 1000);
  EXPECT_EQ(primary(), "VDD_IN");
  put_zone("intel-rapl:0", "package-0", "1");
  EXPECT_EQ(primary(), "package-0");
}

TEST(RealFiles, ReadTheMetersBelowARoot) {
  const ScratchFolder root;
  const auto zone = root.path() / "sys/class/powercap/intel-rapl:0";
  std::filesystem::create_directories(zone);
  std::ofstream(zone / "name") << "package-0\n";
  std::ofstream(zone / "energy_uj") << "123456\n";
  const EnergyMeters found = find_energy_meters(root.path().string());
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(found.meters[0]->read().at(0).value, 123456);
  std::filesystem::remove(zone / "energy_uj");
  EXPECT_THAT(found.meters[0]->read().at(0).why_not, HasSubstr("is gone"));
  std::filesystem::create_directory(zone / "energy_uj");
  EXPECT_THAT(found.meters[0]->read().at(0).why_not, HasSubstr("cannot be read: Is a directory"));
}

TEST(FindEnergyMeters, OnThisMachineEitherFindsOneOrSaysWhyNot) {
  const EnergyMeters found = find_energy_meters();
  EXPECT_TRUE(!found.meters.empty() || !why_no_meter(found).empty());
  for (const auto& meter : found.meters) {
    EXPECT_EQ(meter->read().size(), meter->info().channels.size());
  }
}

}  // namespace
}  // namespace assay
