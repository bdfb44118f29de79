#include "assay/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/count_report.h"
#include "assay/error.h"
#include "assay/profile_report.h"
#include "assay/zoo.h"
#include "fixed_profile.h"
#include "report/packed_text.h"
#include "report/page_tables.h"

namespace assay {

using namespace assay::report;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What a model's author could write to break a page: markup, quotes, 10 kB, emoji, control
// characters, line separators, bytes that are not UTF-8.
std::vector<std::string> hostile_names() {
  return {"</script><script>alert(1)</script>",
          "<!--<script>",
          "\"'`${alert(1)}\\",
          "&lt;b&gt;<b>",
          std::string(10'000, 'x'),
          "🦜\n\t\r",
          "\u2028\u2029",
          "\xff\xfe"};
}

Profile hostile_profile(const std::string& name) {
  Profile profile = fixed_profile();
  profile.model.name = name;
  profile.layers[0].cost.name = name;
  profile.layers[0].cost.op = name;
  profile.steps[0].info.name = name;
  profile.warnings = {name};
  return profile;
}

// The text between the tags of the element that holds the results.
std::string data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"assay-data\">";
  const std::size_t from = html.find(open) + open.size();
  return html.substr(from, html.find("</script>", from) - from);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::string page_of(const std::string& json) {
  return page_html({.documents = {{"result.json", json}}, .command = "assay report result.json"});
}

TEST(Page, HoldsTheResultUnchanged) {
  if (!has_page_charts()) GTEST_SKIP() << "this build's pages have tables only";
  const std::string json = profile_json(fixed_profile());
  const auto data = nlohmann::ordered_json::parse(data_of(page_of(json)));
  EXPECT_EQ(data["documents"][0]["result"], nlohmann::ordered_json::parse(json));
  EXPECT_EQ(data["documents"][0]["name"], "result.json");
  EXPECT_EQ(data["command"], "assay report result.json");
}

TEST(Page, ShowsHostileNamesAsText) {
  const std::size_t scripts = count_of(page_of(profile_json(fixed_profile())), "</script>");
  for (const std::string& name : hostile_names()) {
    const std::string json = profile_json(hostile_profile(name));
    const std::string html = page_of(json);
    EXPECT_EQ(count_of(html, "</script>"), scripts);
    EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
    if (!has_page_charts()) continue;
    EXPECT_THAT(data_of(html), Not(HasSubstr("<")));
    EXPECT_EQ(nlohmann::json::parse(data_of(html))["documents"][0]["result"],
              nlohmann::json::parse(json));
  }
}

TEST(Page, FetchesNothing) {
  const std::string html = page_of(profile_json(fixed_profile()));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* fetches : {"<img", "<iframe", "<script src", "rel=\"stylesheet\"", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(fetches))) << fetches;
  }
}

TEST(Page, StaysBelowTwoMegabytesForAThousandLayers) {
  const CountResult counted = count_model(zoo_model("resnet50"), "resnet50");
  const std::string html = page_of(count_json(counted));
  EXPECT_LT(html.size(), 2'000'000u);
}

TEST(Page, IsTitledByTheModel) {
  EXPECT_THAT(page_of(profile_json(fixed_profile())),
              HasSubstr("<title>tiny.onnx – assay report</title>"));
  EXPECT_THAT(page_of("{\"schema\": \"assay.machine/1\"}"),
              HasSubstr("<title>assay report</title>"));
}

TEST(Page, RefusesWhatIsNoResult) {
  const std::pair<const char*, const char*> refused[] = {
      {"", "is not JSON"},
      {"{\"schema\":", "is not JSON"},
      {"\xff", "is not JSON"},
      {"[1, 2]", "is no result of assay"},
      {"{\"schema\": 3}", "is no result of assay"},
      {"{\"schema\": \"other.profile/1\"}", "is no result of assay"},
      {"{\"traceEvents\": []}", "is no result of assay"}};
  for (const auto& [json, why] : refused) {
    try {
      page_of(json);
      FAIL() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
      EXPECT_THAT(error.what(), HasSubstr(why));
      EXPECT_THAT(error.what(), HasSubstr("result.json"));
    }
  }
}

TEST(Page, TellsTheSchemaOfAResult) {
  EXPECT_EQ(result_schema(profile_json(fixed_profile()), "x"), "assay.profile/1");
  EXPECT_EQ(result_schema("{\"a\": 1}", "x"), "");
  EXPECT_THROW(result_schema("{", "x"), Error);
}

// What a build without npm writes.
TEST(PageTables, ShowEveryFigureAndEscapeNames) {
  const Json json = Json::parse(profile_json(hostile_profile("</td><script>alert(1)</script>")));
  const std::string html = html_tables(json);
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, HasSubstr("&lt;/td&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">throughput_sps</th><td>1000.0</td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">time_ms</th>"));
}

TEST(Page, Base64IsPadded) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Page, LongResultsAreCompressed) {
  if (!has_page_charts()) GTEST_SKIP() << "built without npm";
  Json result = {{"schema", "assay.count/1"}, {"layers", Json::array()}};
  for (int i = 0; i < 20'000; ++i) {
    result["layers"].push_back({{"name", "block/</script>" + std::to_string(i)}, {"macs", i}});
  }
  result["note"] = std::string(1 << 20, 'x');
  const std::string html = page_html({.documents = {{"count.json", result.dump()}}});
  EXPECT_LT(html.size(), 2'000'000u);
  EXPECT_THAT(html, HasSubstr("data-packed=\"deflate\""));
}

TEST(Page, ModelsAreNamedWithTheirHashes) {
  if (!has_page_charts()) GTEST_SKIP() << "built without npm";
  const std::string html =
      page_html({.documents = {{"count.json", R"({"schema":"assay.count/1"})"}},
                 .command = "assay count",
                 .sources = {{"model.onnx", "abc123"}}});
  EXPECT_THAT(html, HasSubstr(R"("sources":[{"path":"model.onnx","sha256":"abc123"}])"));
}

TEST(PageTables, ShortenLongLists) {
  Json list = Json::array();
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  EXPECT_THAT(html_tables({{"samples_ms", list}}), HasSubstr("18, 19, … (1000 in all)"));
}

}  // namespace

}  // namespace assay
