#include "assay/stored_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/error.h"
#include "assay/machine_report.h"
#include "report/some_machine.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST(StoredMachine, ComesBackAsItWas) {
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
  EXPECT_EQ(back.ceilings.peaks[0].spread, 0.015);
  EXPECT_EQ(back.ceilings.bandwidths[1].spread, 0.125);
  EXPECT_EQ(back.ceilings.seconds, 7.5);
  ASSERT_TRUE(back.process_spread);
  EXPECT_EQ(back.process_spread->deviation, 0.0215);
  EXPECT_EQ(back.process_spread->processes, 12);
  EXPECT_EQ(back.ceilings.warnings, machine.ceilings.warnings);
}

std::string machine_refusal(const std::string& text) {
  return error_message(ErrorKind::BadInput, [&] { parse_machine_json(text, "x.json"); });
}

TEST(StoredMachine, SaysWhichFieldIsWrong) {
  EXPECT_THAT(machine_refusal("no json"), HasSubstr("assay machine --json"));
  EXPECT_THAT(machine_refusal("{}"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(machine_refusal(R"({"schema": "assay.profile/1"})"), HasSubstr("not a machine"));
  const Json whole = Json::parse(machine_json(some_machine()));
  for (const auto& [path, value, wanted] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/topology/cores", -1, "'topology/cores' is not a whole number"},
           {"/topology/usable", "all", "'topology/usable' is not a list"},
           {"/topology/usable/0", 0.5, "'topology/usable' is not a list of whole numbers"},
           {"/surroundings/container", "no", "'surroundings/container' is not true or false"},
           {"/peaks/0/gflops", 0, "'gflops' is not a number above 0"},
           {"/peaks/0/spread", -1, "'spread' is not a number of 0 or more"},
           {"/bandwidths/1/level", nullptr, "'level' is not text"},
           {"/meters/0/kind", "heat", "'kind' is not a word that assay knows"},
           {"/meters/0/channels", 1, "'channels' is not a list"},
           {"/meter_notes/0", 1, "'meter_notes' is not a list of texts"},
           {"/counters/available", 1, "'counters/available' is not true or false"},
           {"/bandwidths", nullptr, "'bandwidths' is not a list"}}) {
    Json damaged = whole;
    damaged[Json::json_pointer(path)] = value;
    EXPECT_THAT(machine_refusal(damaged.dump()), HasSubstr(wanted)) << path;
  }
}

TEST(StoredMachine, WithoutSpreadsIsReadToo) {
  Json json = Json::parse(machine_json(some_machine()));
  json["peaks"][0].erase("spread");
  json.erase("process_spread");
  EXPECT_FALSE(parse_machine_json(json.dump(), "x.json").process_spread);
  EXPECT_EQ(parse_machine_json(json.dump(), "x.json").ceilings.peaks[0].spread, 0);
}

}  // namespace
}  // namespace assay
