// What was measured on this machine, cached between runs in the user's cache folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "assay/error.h"
#include "assay/fit_report.h"
#include "assay/stored_calibration.h"
#include "assay/stored_machine.h"
#include "report/some_machine.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Cache : public InScratchFolder {
 protected:
  void SetUp() override { ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::filesystem::path only_file() const {
    const std::filesystem::directory_iterator files(folder_ / "assay");
    return *files;
  }

  std::vector<std::string> warnings_ = {};
};

Machine undisturbed_machine() {
  Machine machine = some_machine();
  machine.ceilings.warnings.clear();
  return machine;
}

TEST_F(Cache, GivesAMachineBack) {
  const Machine machine = undisturbed_machine();
  EXPECT_FALSE(cached_machine(machine.topology));
  cache_machine(machine, warnings_);
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_TRUE(cached_machine(machine.topology));
  EXPECT_EQ(peak_gflops(cached_machine(machine.topology)->ceilings, "fp32", 3), 300.25);
}

TEST_F(Cache, HasNothingForAnotherMachine) {
  cache_machine(undisturbed_machine(), warnings_);
  Topology other = some_machine().topology;
  other.processor = "Another processor";
  EXPECT_FALSE(cached_machine(other));
}

TEST_F(Cache, IgnoresADamagedFile) {
  const Machine machine = undisturbed_machine();
  cache_machine(machine, warnings_);
  std::ofstream(only_file()) << "{";
  EXPECT_FALSE(cached_machine(machine.topology));
}

TEST_F(Cache, DisturbedCeilingsDoNotReplaceUndisturbedOnes) {
  cache_machine(undisturbed_machine(), warnings_);
  Machine disturbed = some_machine();
  disturbed.measured_at = "2026-11-16T00:00:00Z";
  cache_machine(disturbed, warnings_);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("not cached")));
  EXPECT_EQ(cached_machine(disturbed.topology)->measured_at, some_machine().measured_at);
}

TEST_F(Cache, SaysWhyItCannotBeWritten) {
  ::setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  cache_machine(undisturbed_machine(), warnings_);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("ceilings are not cached")));
}

Calibration some_calibration() {
  return {.measured_at = "2026-11-15T21:00:00Z",
          .ceilings_of = some_machine().measured_at,
          .threads = 3,
          .step_overhead_ms = 0.002,
          .network_count = 3,
          .disturbed = {"mlp"},
          .samples = {{"mlp", "matrix", 1e6, 4e6, 8e3, 0.01, 0.02}},
          .held_out = {{"mlp", 0.02, 0.03, 0.01}, {"lenet5", 1, 1, 0.5}, {"lstm", 2, 2, 1}}};
}

TEST(StoredCalibration, ComesBackAsItWas) {
  const Calibration calibration = some_calibration();
  const std::string text = calibration_json(calibration);
  EXPECT_EQ(calibration_json(parse_calibration_json(text, "x.json")), text);
}

TEST(StoredCalibration, NamesTheWrongField) {
  std::string text = calibration_json(some_calibration());
  text.replace(text.find("\"threads\":3"), 11, "\"threads\":{}");
  try {
    parse_calibration_json(text, "x.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_THAT(error.what(), HasSubstr("x.json: 'threads'"));
  }
}

TEST(CalibrationNetworks, HaveNamesOfTheirOwnAndSeveralFamilies) {
  std::set<std::string> names;
  std::set<std::string> families;
  for (const CalibrationNetwork& network : calibration_networks()) {
    EXPECT_TRUE(names.insert(network.name).second) << network.name;
    families.insert(network.family);
  }
  EXPECT_GE(families.size(), 3u);
}

}  // namespace
}  // namespace assay
