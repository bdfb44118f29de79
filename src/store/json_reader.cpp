#include "store/json_reader.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"

namespace assay::store {

namespace {

bool is_rate(const report::Json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

}  // namespace

const report::Json& JsonReader::at(const char* path) const {
  const report::Json::json_pointer pointer(std::string("/") + path);
  if (!root_.contains(pointer)) fail_bad_input("{}: '{}' is missing", file_, path);
  return root_.at(pointer);
}

std::string JsonReader::text(const char* path) const {
  const report::Json& value = at(path);
  if (!value.is_string()) refuse(path, "text");
  return value.get<std::string>();
}

std::optional<std::string> JsonReader::text_or_null(const char* path) const {
  return at(path).is_null() ? std::nullopt : std::optional(text(path));
}

std::vector<std::string> JsonReader::texts(const char* path) const {
  std::vector<std::string> found;
  for (const report::Json& item : list(path)) {
    if (!item.is_string()) refuse(path, "a list of texts");
    found.push_back(item.get<std::string>());
  }
  return found;
}

void JsonReader::check_schema(std::string_view beginning, std::string_view what,
                              std::string_view command) const {
  const std::string schema = text("schema");
  if (schema.starts_with(beginning)) return;
  fail_bad_input("{}: holds '{}', not a {}; '{}' writes one", file_, schema, what, command);
}

bool JsonReader::flag(const char* path) const {
  const report::Json& value = at(path);
  if (!value.is_boolean()) refuse(path, "true or false");
  return value.get<bool>();
}

std::int64_t JsonReader::count(const char* path) const {
  const report::Json& value = at(path);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0) refuse(path, "a whole number");
  return value.get<std::int64_t>();
}

int JsonReader::small_count(const char* path) const {
  return static_cast<int>(std::min<std::int64_t>(count(path), 1'000'000));
}

std::vector<int> JsonReader::small_counts(const char* path) const {
  std::vector<int> numbers;
  for (const report::Json& item : list(path)) {
    const bool is_count = item.is_number_integer() && item.get<std::int64_t>() >= 0;
    if (!is_count) refuse(path, "a list of whole numbers");
    numbers.push_back(
        static_cast<int>(std::min<std::int64_t>(item.get<std::int64_t>(), 1'000'000)));
  }
  return numbers;
}

std::optional<std::int64_t> JsonReader::count_or_null(const char* path) const {
  return at(path).is_null() ? std::nullopt : std::optional(count(path));
}

bool JsonReader::has(const char* key) const {
  return root_.contains(key);
}

double JsonReader::at_least_zero(const char* path) const {
  const report::Json& value = at(path);
  if (!value.is_number() || !(value.get<double>() >= 0)) refuse(path, "a number of 0 or more");
  return value.get<double>();
}

double JsonReader::rate(const char* path) const {
  const report::Json& value = at(path);
  if (!is_rate(value)) refuse(path, "a number above 0");
  return value.get<double>();
}

std::vector<double> JsonReader::rates(const char* path) const {
  const report::Json& value = list(path);
  std::vector<double> numbers;
  for (const report::Json& item : value) {
    if (!is_rate(item)) refuse(path, "a list of numbers above 0");
    numbers.push_back(item.get<double>());
  }
  if (numbers.empty()) refuse(path, "a list of numbers above 0");
  return numbers;
}

const report::Json& JsonReader::list(const char* path) const {
  const report::Json& value = at(path);
  if (!value.is_array()) refuse(path, "a list");
  return value;
}

void JsonReader::refuse(const char* path, const char* wanted) const {
  fail_bad_input("{}: '{}' is not {}", file_, path, wanted);
}

StoredResult::StoredResult(std::string_view text, std::string file, const ResultKind& kind)
    : file_(std::move(file)), root_(report::Json::parse(text, nullptr, false)) {
  if (root_.is_discarded() || !root_.is_object()) {
    fail_bad_input("{}: is not the JSON that '{}' prints", file_, kind.command);
  }
  reader().check_schema(kind.schema, kind.name, kind.command);
}

}  // namespace assay::store
