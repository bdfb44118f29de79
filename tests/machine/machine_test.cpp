#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "assay/counters.h"
#include "assay/error.h"
#include "assay/machine.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Topology, DescribesThisMachine) {
  const Topology topology = read_topology();
  EXPECT_FALSE(topology.processor.empty());
  EXPECT_GE(topology.processors, topology.cores);
  EXPECT_GT(topology.memory_bytes, 0);
  ASSERT_FALSE(topology.usable.empty());
  const std::set<int> different(topology.usable.begin(), topology.usable.end());
  EXPECT_EQ(different.size(), topology.usable.size());
  EXPECT_LE(topology.usable.size(), static_cast<std::size_t>(topology.processors));
  for (std::size_t i = 1; i < topology.caches.size(); ++i) {
    EXPECT_GT(topology.caches[i].level, topology.caches[i - 1].level);
  }
}

class FakeRoot : public InScratchFolder {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Instruments instruments() const { return find_instruments(folder_.string()); }
  Surroundings read() const { return read_surroundings(folder_.string()); }
};

TEST_F(FakeRoot, WithNothingSaysWhatIsMissing) {
  const Surroundings found = read();
  EXPECT_FALSE(found.governor);
  EXPECT_FALSE(found.hypervisor);
  EXPECT_FALSE(found.load);
  EXPECT_FALSE(found.is_container);
  EXPECT_THAT(found.notes, Contains(HasSubstr("no cpufreq")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("/proc/loadavg")));
}

TEST_F(FakeRoot, OfALaptopHasNoNotes) {
  put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  put("/proc/loadavg", "0.25 0.10 0.05 1/100 4242\n");
  put("/proc/cpuinfo", "flags : fpu sse2 avx2\n");
  const Surroundings found = read();
  EXPECT_EQ(found.governor, "powersave");
  EXPECT_EQ(found.load, 0.25);
  EXPECT_FALSE(found.hypervisor);
  EXPECT_TRUE(found.notes.empty());
}

TEST_F(FakeRoot, OfAContainerInAVirtualMachineSaysSo) {
  put("/proc/cpuinfo", "flags : fpu hypervisor avx2\n");
  put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
  put("/proc/1/cgroup", "0::/docker/abc\n");
  const Surroundings found = read();
  EXPECT_EQ(found.hypervisor, "QEMU");
  EXPECT_TRUE(found.is_container);
  EXPECT_THAT(found.notes, Contains(HasSubstr("virtual machine")));
}

TEST_F(FakeRoot, OfAnotherArchitectureIsThatOfAnEmulator) {
  put("/proc/cpuinfo", "vendor_id : GenuineIntel\n\nCPU implementer : 0x41\n");
  EXPECT_THAT(read().notes, Contains(HasSubstr("an emulated processor")));
}

// qemu since 8.2 writes a /proc/cpuinfo of its own; the registers are those of the machine below.
TEST_F(FakeRoot, OfAnEmulatorWithItsOwnProcessorListIsKnownByTheRegisters) {
  const std::string processor = "/sys/devices/system/cpu/cpu0/";
  const std::string registers = processor + "regs/identification/midr_el1";
  const auto is_emulated = Contains(HasSubstr("an emulated processor"));
  put(processor + "topology/core_id", "0\n");
#if defined(__aarch64__)
  put("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd08\n");
  EXPECT_THAT(read().notes, is_emulated);
  put(registers, "0x00000000410fd083\n");
  EXPECT_THAT(read().notes, Not(is_emulated));
#else
  put("/proc/cpuinfo", "vendor_id : GenuineIntel\n");
  EXPECT_THAT(read().notes, Not(is_emulated));
  put(registers, "0x00000000410fd083\n");
  EXPECT_THAT(read().notes, is_emulated);
#endif
}

// Graviton: /proc/cpuinfo of ARM has no word of a hypervisor.
TEST_F(FakeRoot, OfAnArmGuestIsKnownByItsFirmware) {
  put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  put("/sys/class/dmi/id/product_name", "c7g.xlarge\n");
  EXPECT_EQ(read().hypervisor, "Amazon EC2");
  put("/sys/class/dmi/id/product_name", "c7g.metal\n");
  EXPECT_FALSE(read().hypervisor);
  put("/proc/device-tree/hypervisor/compatible", "linux,kvm");
  EXPECT_TRUE(read().hypervisor);
}

TEST_F(FakeRoot, WithDamagedFilesIsAsIfTheyWereMissing) {
  put("/proc/loadavg", "soon\n");
  put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
  EXPECT_FALSE(read().load);
  EXPECT_FALSE(read().governor);
}

TEST_F(FakeRoot, WithoutMetersSaysWhyInOneLine) {
  const Instruments found = instruments();
  EXPECT_TRUE(found.meters.empty());
  EXPECT_THAT(found.meter_notes, ElementsAre(HasSubstr("no RAPL, no INA3221")));
  EXPECT_EQ(found.why_not_counters.has_value(), found.counters.size() < kCounterEvents.size());
}

TEST_F(FakeRoot, WithAPackageHasAMeter) {
  put("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
  put("/sys/class/powercap/intel-rapl:0/energy_uj", "1\n");
  const Instruments found = instruments();
  ASSERT_EQ(found.meters.size(), 1u);
  EXPECT_EQ(covers(found.meters[0]), "package-0");
  EXPECT_TRUE(found.meter_notes.empty());
}

TEST(Ceilings, QuickOnesNameEveryLevelForOneThreadAndAll) {
  const Topology topology = read_topology();
  const Ceilings ceilings = measure_ceilings(topology, {.quick = true});
  const int all = static_cast<int>(topology.usable.size());
  for (const int threads : {1, all}) {
    EXPECT_GT(peak_gflops(ceilings, "fp32", threads).value_or(0), 0);
    EXPECT_GT(bandwidth_gbps(ceilings, "DRAM", "read", threads).value_or(0), 0);
    for (const CacheLevel& cache : topology.caches) {
      const auto rate =
          bandwidth_gbps(ceilings, "L" + std::to_string(cache.level), "triad", threads);
      EXPECT_GT(rate.value_or(0), 0) << "L" << cache.level;
    }
  }
  EXPECT_FALSE(peak_gflops(ceilings, "fp64", 1));
  EXPECT_FALSE(bandwidth_gbps(ceilings, "L9", "read", 1));
}

// Reports that other programs took half of all processor time between two readings.
class BusyMachine : public MachineState {
 public:
  std::optional<MachineTimes> times() override {
    const double seconds = 10.0 * looks_++;
    return MachineTimes{.busy_seconds = seconds, .idle_seconds = seconds};
  }

 private:
  int looks_ = 0;
};

TEST(Ceilings, HaveAWarningWhereOtherProgramsRan) {
  const CeilingOptions least{.quick = true, .thread_counts = {1}, .precision = "fp32"};
  BusyMachine busy;
  const Ceilings disturbed = measure_ceilings(read_topology(), least, nullptr, busy);
  ASSERT_EQ(disturbed.warnings.size(), 1);
  EXPECT_THAT(disturbed.warnings[0], HasSubstr("50 % of all processor time"));
}

TEST(Ceilings, AreCancelledBetweenTwoKernels) {
  struct Impatient : Progress {
    bool cancelled() const override { return true; }
  } impatient;
  try {
    measure_ceilings(read_topology(), {.quick = true}, &impatient);
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
  }
}

}  // namespace
}  // namespace assay
