#include "cli/origin.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "assay/engine.h"
#include "assay/machine.h"
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

// "Linux 6.1.0 x86_64"; empty if the system does not tell.
std::string system_name() {
  utsname names = {};
  if (uname(&names) != 0) return "";
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

std::string origin() {
  const nlohmann::ordered_json facts = {{"version", std::string(version())},
                                        {"command", own_command()},
                                        {"processor", read_topology().processor},
                                        {"system", system_name()},
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
