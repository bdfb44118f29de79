#include "assay/zoo_report.h"

#include <fmt/core.h>

#include "base/text.h"
#include "report/json_parts.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string parameters_text(const ZooEntry& entry) {
  std::vector<std::string> parts;
  for (const auto& parameter : entry.parameters) {
    parts.push_back(fmt::format("{}={}", parameter.name, parameter.standard));
  }
  return join(parts, ",");
}

}  // namespace

std::string zoo_table(std::span<const ZooRow> rows, const Layout& layout) {
  TextTable table({{.title = "name"},
                   {.title = "params", .is_number = true},
                   {.title = "MACs", .is_number = true},
                   {.title = "what", .shrinks = true, .narrowest = 20}});
  for (const auto& [entry, totals] : rows) {
    table.add_row({entry.name, with_si_suffix(static_cast<double>(totals.parameters)),
                   with_si_suffix(static_cast<double>(totals.macs)), entry.summary});
  }
  std::string text =
      table.render(layout) + "\nParameters, given as zoo:NAME:key=value,key=value:\n";
  for (const auto& row : rows) {
    text += fmt::format("  {:<14}  {}\n", row.entry.name, parameters_text(row.entry));
  }
  return text;
}

std::string zoo_json(std::span<const ZooRow> rows) {
  Json networks = Json::array();
  for (const auto& [entry, totals] : rows) {
    Json parameters = Json::array();
    for (const auto& parameter : entry.parameters) {
      parameters.push_back({{"name", parameter.name},
                            {"default", parameter.standard},
                            {"smallest", parameter.smallest},
                            {"largest", parameter.largest},
                            {"meaning", parameter.meaning}});
    }
    networks.push_back({{"name", entry.name},
                        {"summary", entry.summary},
                        {"parameters", totals.parameters},
                        {"macs", totals.macs},
                        {"options", std::move(parameters)}});
  }
  return Json{{"schema", "assay.zoo/1"}, {"networks", std::move(networks)}}.dump(2) + "\n";
}

}  // namespace assay
