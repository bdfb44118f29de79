#include "assay/stored_profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/error.h"
#include "assay/profile_report.h"
#include "report/fixed_profile.h"

namespace assay {
namespace {

TEST(StoredProfile, ReadsBackWhatWasWritten) {
  const StoredProfile stored = parse_profile_json(profile_json(fixed_profile()), "a.json");
  EXPECT_EQ(stored.model, "tiny.onnx");
  EXPECT_EQ(stored.samples_ms, (std::vector<double>{1.75, 2.0, 2.0, 2.0, 2.0, 8.0}));
  EXPECT_DOUBLE_EQ(stored.median_ms, 2.0);
  EXPECT_EQ(stored.batch, 2);
  EXPECT_EQ(stored.threads, 2);
  EXPECT_EQ(stored.parameters, 12345);
  EXPECT_EQ(stored.flops, 2'010'000);
  EXPECT_EQ(stored.peak_memory_bytes, 131072);
  EXPECT_EQ(*stored.peak_rss_growth_bytes, 2'097'152);
  EXPECT_EQ(stored.verdict, "NOISY");
  EXPECT_EQ(stored.engine, "cpu");
  EXPECT_TRUE(stored.pinned);
  ASSERT_EQ(stored.inputs.size(), 1U);
  EXPECT_EQ(stored.inputs[0].name, "x");
  EXPECT_EQ(stored.inputs[0].dims, (std::vector<std::int64_t>{2, 3, 8, 8}));
  EXPECT_FALSE(stored.sha256);
}

TEST(StoredProfile, ReadsTheHashOfItsModelAndItsEnergy) {
  Profile profile = fixed_profile();
  profile.model.sha256 = "0123";
  profile.energy = {.proxy_j = 0.5};
  StoredProfile stored = parse_profile_json(profile_json(profile), "a.json");
  EXPECT_EQ(*stored.sha256, "0123");
  EXPECT_DOUBLE_EQ(*stored.energy_j, 0.5);
  profile.energy.gross_j_per_run = 0.25;  // measured, which is better
  stored = parse_profile_json(profile_json(profile), "a.json");
  EXPECT_DOUBLE_EQ(*stored.energy_j, 0.25);
}

void expect_refused(const std::string& text, const std::string& what) {
  try {
    parse_profile_json(text, "a.json");
    FAIL() << "accepted: " << text.substr(0, 80);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_NE(std::string(error.what()).find("a.json"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(StoredProfile, RefusesWhatIsNoProfile) {
  expect_refused("", "not the JSON");
  expect_refused("[]", "not the JSON");
  expect_refused("{\"schema\":\"assay.profile/1\"", "not the JSON");
  expect_refused("{}", "schema");
  expect_refused("{\"schema\":7}", "schema");
  expect_refused("{\"schema\":\"assay.count/1\"}", "assay.count/1");
  expect_refused("{\"schema\":\"assay.profile/1\"}", "model/name");
  expect_refused(std::string(100'000, '['), "not the JSON");
}

TEST(StoredProfile, RefusesEveryFieldOfAnotherKind) {
  const auto whole = nlohmann::ordered_json::parse(profile_json(fixed_profile()));
  for (const char* path : {"/model/name", "/latency/samples_ms", "/latency/median_ms",
                           "/options/batch", "/options/threads", "/options/engine", "/totals/macs",
                           "/parameters", "/flops", "/memory/peak_bytes", "/latency/verdict"}) {
    for (const auto& wrong : {nlohmann::ordered_json(true), nlohmann::ordered_json::object(),
                              nlohmann::ordered_json(-1.5), nlohmann::ordered_json::array()}) {
      auto broken = whole;
      broken[nlohmann::ordered_json::json_pointer(path)] = wrong;
      EXPECT_THROW(parse_profile_json(broken.dump(), "a.json"), Error) << path << wrong;
    }
  }
}

}  // namespace
}  // namespace assay
