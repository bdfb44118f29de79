#include <fmt/core.h>

#include "assay/page.h"
#include "assay/version.h"
#include "base/fail.h"
#include "report/json_parts.h"
#include "report/packed_text.h"
#include "report/page_bundle.h"
#include "report/page_tables.h"

namespace assay {

using namespace assay::report;

namespace {

// Nothing is fetched, whatever a page contains.
constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:">
<meta name="generator" content="assay {}">
<link rel="icon" href="data:,">
<title>{}</title>
<style>)";

constexpr const char* kPlainStyle = R"(
html{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:13px}th,td{text-align:left;vertical-align:top;padding:.2rem .6rem;border-bottom:1px solid #8885}
.facts,.facts>tbody{display:block}.facts>tbody>tr{display:grid;grid-template-columns:min(13rem,36%) minmax(0,1fr)}h1{overflow-wrap:anywhere}
.facts>tbody>tr>*{overflow-wrap:anywhere}.wide{overflow-x:auto}.wide td{overflow-wrap:normal}.note{border-left:4px solid #e69f00;padding:.3rem .8rem})";

constexpr const char* kNoCharts =
    "<p class=\"note\">This page has tables and figures only. The program that wrote it was built "
    "without npm, which bundles the charts, the search and the graph of the network.</p>\n";

Json parsed(std::string_view text, const std::string& described_as) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    fail_bad_input("{}: is not JSON: {}", described_as, error.what());
  }
}

std::string schema_of(const Json& document) {
  if (!document.is_object()) return "";
  const auto schema = document.find("schema");
  if (schema == document.end() || !schema->is_string()) return "";
  const auto name = schema->get<std::string>();
  return name.starts_with("assay.") ? name : "";
}

Json checked(const PageDocument& document) {
  Json json = parsed(document.json, document.name);
  if (schema_of(json).empty()) {
    fail_bad_input("{}: is no result of assay: it has no schema that begins with 'assay.'",
                   document.name);
  }
  return json;
}

// In a script element only "<" can have a meaning; in JSON it occurs in strings alone.
std::string within_script(std::string_view json) {
  std::string safe;
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

// Empty if the result has no model, or one with a name too long for a title.
std::string model_of(const Json& document) {
  constexpr std::size_t kLongest = 200;
  const auto model = document.find("model");
  if (model == document.end()) return "";
  const Json name = model->is_object() ? model->value("name", Json()) : *model;
  if (!name.is_string()) return "";
  const auto text = name.get<std::string>();
  return text.size() > kLongest ? "" : text;
}

std::string title_of(const Json& document) {
  const std::string model = model_of(document);
  return model.empty() ? "assay report" : model + " – assay report";
}

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// Results that would make a page larger than 2 MB are compressed; smaller ones stay readable.
std::string data_element(const Json& data) {
  constexpr std::size_t kLongestPlain = std::size_t{1} << 20;
  const std::string text = text_of(data);
  if (text.size() <= kLongestPlain) {
    return "<script type=\"application/json\" id=\"assay-data\">" + within_script(text) +
           "</script>\n";
  }
  return "<script type=\"text/plain\" id=\"assay-data\" data-packed=\"deflate\">" +
         packed_text(text) + "</script>\n";
}

std::string page_with_charts(const Page& page, const std::vector<Json>& documents) {
  Json data = {{"version", version()}, {"command", page.command}, {"documents", Json::array()}};
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto& [name, json, record] = page.documents[i];
    Json document = {{"name", name}, {"result", documents[i]}};
    if (!record.empty()) document["record"] = parsed(record, name);
    data["documents"].push_back(std::move(document));
  }
  for (const auto& [path, sha256] : page.sources) {
    data["sources"].push_back({{"path", path}, {"sha256", sha256}});
  }
  return joined(page_style()) +
         "</style>\n</head>\n<body>\n<noscript>This page needs JavaScript to draw its tables and "
         "charts; it fetches nothing.</noscript>\n" +
         data_element(data) + "<script>" + joined(page_script()) + "</script>\n</body>\n</html>\n";
}

std::string page_of_tables(const Page& page, const std::vector<Json>& documents) {
  std::string text = std::string(kPlainStyle) + "</style>\n</head>\n<body>\n" + kNoCharts;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    text += "<h1>" + html_text(page.documents[i].name) + "</h1>\n" + html_tables(documents[i]);
  }
  if (!page.command.empty()) text += "<p>" + html_text(page.command) + "</p>\n";
  return text + "</body>\n</html>\n";
}

}  // namespace

bool has_page_charts() {
  return !page_script().empty();
}

std::string result_schema(std::string_view json, const std::string& described_as) {
  return schema_of(parsed(json, described_as));
}

std::string page_html(const Page& page) {
  std::vector<Json> documents;
  for (const PageDocument& document : page.documents) documents.push_back(checked(document));
  if (documents.empty()) fail_usage("a page needs at least one result");
  const std::string head =
      fmt::format(fmt::runtime(kHead), version(), html_text(title_of(documents.front())));
  return head +
         (has_page_charts() ? page_with_charts(page, documents) : page_of_tables(page, documents));
}

}  // namespace assay
