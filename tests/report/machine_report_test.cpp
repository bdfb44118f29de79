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
  machine.instruments = {
      .meters = {{.source = "RAPL",
                  .channels = {{.name = "package-0"}, {.name = "psys", .is_counted = false}},
                  .update_ms = 2}},
      .meter_notes = {"NVML, GPU 0: NVML says 'Not Supported'"},
      .counters = {"cycles", "page-faults"},
      .has_hardware_counters = true,
      .why_not_counters = "cache-misses: the processor shows no such counter"};
  machine.ceilings = {.peaks = {{"fp32", "AVX2 FMA", 1, 111.5}, {"fp32", "AVX2 FMA", 3, 300.25}},
                      .bandwidths = {{"L1", "read", 1, 16384, 200}, {"L1", "read", 3, 49152, 600}},
                      .seconds = 7.5,
                      .doubts = {"other programs used 30 %"}};
  return machine;
}

TEST(MachineJson, ComesBackAsItWas) {
  const Machine machine = some_machine();
  const std::string text = machine_json(machine);
  const Machine back = parse_machine_json(text, "x.json");
  EXPECT_EQ(Json::parse(machine_json(back))["meters"], Json::parse(text)["meters"]);
  EXPECT_EQ(Json::parse(machine_json(back))["counters"], Json::parse(text)["counters"]);
  EXPECT_EQ(back.instruments.meter_notes, machine.instruments.meter_notes);
  EXPECT_EQ(covers(back.instruments.meters.at(0)), "package-0");
  EXPECT_EQ(back.measured_at, machine.measured_at);
  EXPECT_EQ(fingerprint(back.topology), fingerprint(machine.topology));
  EXPECT_EQ(back.topology.usable, machine.topology.usable);
  EXPECT_EQ(back.surroundings.hypervisor, "kvm");
  EXPECT_FALSE(back.surroundings.governor);
  EXPECT_EQ(peak_gflops(back.ceilings, "fp32", 3), 300.25);
  EXPECT_EQ(bandwidth_gbps(back.ceilings, "L1", "read", 1), 200);
  EXPECT_EQ(back.ceilings.bandwidths[1].bytes, 49152);
  EXPECT_EQ(back.ceilings.seconds, 7.5);
  EXPECT_EQ(back.ceilings.doubts, machine.ceilings.doubts);
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
           {"/meters/0/kind", "heat", "'kind' is not a word that assay knows"},
           {"/meters/0/channels", 1, "'channels' is not a list"},
           {"/meter_notes/0", 1, "'meter_notes' is not a list of texts"},
           {"/counters/available", 1, "'counters/available' is not true or false"},
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
