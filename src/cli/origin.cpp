#include "cli/origin.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "assay/engine.h"
#include "assay/version.h"
#include "base/compiler.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

// Their readers refuse keys that they do not know.
constexpr std::array kStrictlyRead = {"assay.devices/", "assay.machine/"};

bool is_read_strictly(std::string_view json) {
  const std::string_view head = json.substr(0, 60);
  return std::ranges::any_of(kStrictlyRead, [&](const char* schema) {
    return head.find(schema) != std::string_view::npos;
  });
}

// Just behind the schema; npos if the text does not begin with one.
std::size_t behind_schema(std::string_view json) {
  constexpr std::string_view kKey = "\"schema\"";
  const std::size_t key = json.find_first_not_of("{ \n");
  if (key == std::string_view::npos || json.substr(key, kKey.size()) != kKey) {
    return std::string_view::npos;
  }
  return json.find(',', key);
}

std::string origin() {
  const nlohmann::ordered_json facts = {{"version", std::string(version())},
                                        {"command", own_command()},
                                        {"compiler", kCompiler},
                                        {"libraries", find_engine(default_engine()).library}};
  return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string with_origin(std::string json) {
  const std::size_t place = behind_schema(json);
  if (place == std::string::npos || is_read_strictly(json)) return json;
  const bool is_indented = json.starts_with("{\n");
  json.insert(place, (is_indented ? ",\n  \"made_by\": " : ",\"made_by\":") + origin());
  return json;
}

}  // namespace assay::cli
