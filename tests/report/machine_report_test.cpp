#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/error.h"
#include "assay/machine_report.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Machine some_machine() {
  Machine machine;
  machine.measured_at = "2026-11-15T20:51:49Z";
  machine.topology = {.processor = "Some processor",
                      .packages = 1,
                      .cores = 2,
                      .processors = 4,
                      .usable = {0, 2, 1},
                      .numa_nodes = 1,
                      .memory_bytes = std::int64_t{8} << 30,
                      .caches = {{1, 32 << 10, 2}, {2, 1 << 20, 4}}};
  machine.surroundings = {.hypervisor = "kvm", .is_container = true, .notes = {"no cpufreq"}};
  machine.ceilings = {.peaks = {{"fp32", "AVX2 FMA", 1, 111.5}, {"fp32", "AVX2 FMA", 3, 300.25}},
                      .bandwidths = {{"L1", "read", 1, 16384, 200}, {"L1", "read", 3, 49152, 600}},
                      .seconds = 7.5};
  return machine;
}

TEST(MachineJson, ComesBackAsItWas) {
  const Machine machine = some_machine();
  const std::string text = machine_json(machine);
  const Machine back = parse_machine_json(text, "x.json");
  EXPECT_EQ(machine_json(back).substr(0, 40), text.substr(0, 40));
  EXPECT_EQ(back.measured_at, machine.measured_at);
  EXPECT_EQ(fingerprint(back.topology), fingerprint(machine.topology));
  EXPECT_EQ(back.topology.usable, machine.topology.usable);
  EXPECT_EQ(back.surroundings.hypervisor, "kvm");
  EXPECT_FALSE(back.surroundings.governor);
  EXPECT_EQ(peak_gflops(back.ceilings, "fp32", 3), 300.25);
  EXPECT_EQ(bandwidth_gbps(back.ceilings, "L1", "read", 1), 200);
  EXPECT_EQ(back.ceilings.bandwidths[1].bytes, 49152);
  EXPECT_EQ(back.ceilings.seconds, 7.5);
}

std::string refusal(const std::string& text) {
  try {
    parse_machine_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "accepted";
}

TEST(MachineJson, SaysWhichFieldIsWrong) {
  EXPECT_THAT(refusal("no json"), HasSubstr("assay machine --json"));
  EXPECT_THAT(refusal("{}"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(refusal(R"({"schema": "assay.profile/1"})"), HasSubstr("not a machine"));
  const Json whole = Json::parse(machine_json(some_machine()));
  for (const auto& [path, value, wanted] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/topology/cores", -1, "'topology/cores' is not a whole number"},
           {"/topology/usable", "all", "'topology/usable' is not a list"},
           {"/topology/usable/0", 0.5, "'topology/usable' is not a list of whole numbers"},
           {"/surroundings/container", "no", "'surroundings/container' is not true or false"},
           {"/peaks/0/gflops", 0, "'gflops' is not a number above 0"},
           {"/bandwidths/1/level", nullptr, "'level' is not text"},
           {"/bandwidths", nullptr, "'bandwidths' is not a list"}}) {
    Json damaged = whole;
    damaged[Json::json_pointer(path)] = value;
    EXPECT_THAT(refusal(damaged.dump()), HasSubstr(wanted)) << path;
  }
}

TEST(MachineTable, HasAColumnForEachThreadCountAndFitsATerminal) {
  const std::string table = machine_table(some_machine());
  EXPECT_THAT(table, HasSubstr("2 cores, 4 processors, 3 of them usable"));
  EXPECT_THAT(table, HasSubstr("L1 32.0 KiB for 2 processors, L2 1.00 MiB for 4 processors"));
  EXPECT_THAT(table, HasSubstr("1 thread  3 threads"));
  EXPECT_THAT(table, HasSubstr("300.2"));
  EXPECT_THAT(table, HasSubstr("a virtual machine (kvm), in a container"));
}

}  // namespace
}  // namespace assay
