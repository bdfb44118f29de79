#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/machine_report.h"
#include "some_machine.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

TEST(MachineTable, HasAColumnForEachThreadCountAndFitsATerminal) {
  const std::string table = machine_table(some_machine());
  EXPECT_THAT(table, HasSubstr("2 cores, 4 processors, 3 of them usable"));
  EXPECT_THAT(table, HasSubstr("L1 32.0 KiB for 2 processors, L2 1.00 MiB for 4 processors"));
  EXPECT_THAT(table, HasSubstr("1 thread  3 threads"));
  EXPECT_THAT(table, HasSubstr("300.2"));
  EXPECT_THAT(table, HasSubstr("a virtual machine (kvm), in a container"));
}

TEST(MachineTable, SaysTheSpreadAndWhereMemoryMayBeCache) {
  Machine machine = some_machine();
  const std::string table = machine_table(machine);
  EXPECT_THAT(table, HasSubstr("at most 12.5 % longer (L1 read, 3 threads)"));
  EXPECT_THAT(table, HasSubstr("There was time for 1.00 MiB of memory, less than twice L2"));
  machine.ceilings.bandwidths.back().bytes = 2 << 20;
  EXPECT_THAT(machine_table(machine), Not(HasSubstr("less than twice")));
}

TEST(MachineTable, NamesMetersAndCountersAndSaysWhyOthersAreNot) {
  Machine machine = some_machine();
  EXPECT_THAT(machine_table(machine), HasSubstr(R"(
meters       RAPL (package-0)
             not NVML, GPU 0: NVML says 'Not Supported'
counters     cycles, page-faults
             not cache-misses: the processor shows no such counter
)"));
  machine.instruments = {.meter_notes = {"no RAPL, no INA3221"}, .why_not_counters = "forbidden"};
  EXPECT_THAT(machine_table(machine), HasSubstr("meters       none: no RAPL, no INA3221\n"));
  EXPECT_THAT(machine_table(machine), HasSubstr("counters     none: forbidden\n"));
}

TEST(MachineJson, HasMetersAndCountersForPrograms) {
  const Json json = Json::parse(machine_json(some_machine()));
  EXPECT_EQ(json["meters"][0]["source"], "RAPL");
  EXPECT_EQ(json["meters"][0]["covers"], "package-0");
  EXPECT_EQ(json["meters"][0]["kind"], "energy");
  EXPECT_EQ(json["counters"]["available"], true);
  EXPECT_EQ(json["counters"]["events"], (Json{"cycles", "page-faults"}));
  EXPECT_THAT(json["counters"]["why_not"].get<std::string>(), HasSubstr("cache-misses"));
}

}  // namespace
}  // namespace assay
