// Reads back what profile_json wrote. The file may be anything: every field is checked.
#include <cmath>

#include "assay/profile_report.h"
#include "base/fail.h"
#include "report/json_parts.h"

namespace assay {

namespace {

constexpr std::string_view kSchema = "assay.profile/";

class Reader {
 public:
  Reader(const Json& root, const std::string& file) : root_(root), file_(file) {}

  // A path of keys: "latency/median_ms".
  const Json& at(const char* path) const {
    const Json::json_pointer pointer(std::string("/") + path);
    if (!root_.contains(pointer)) fail_bad_input("{}: '{}' is missing", file_, path);
    return root_.at(pointer);
  }

  std::string text(const char* path) const {
    const Json& value = at(path);
    if (!value.is_string()) refuse(path, "text");
    return value.get<std::string>();
  }

  std::int64_t count(const char* path) const {
    const Json& value = at(path);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) refuse(path, "a whole number");
    return value.get<std::int64_t>();
  }

  std::optional<std::int64_t> count_or_null(const char* path) const {
    return at(path).is_null() ? std::nullopt : std::optional(count(path));
  }

  std::vector<double> times(const char* path) const {
    const Json& value = at(path);
    if (!value.is_array() || value.empty()) refuse(path, "a list of times");
    std::vector<double> numbers;
    for (const Json& item : value) {
      const bool is_time =
          item.is_number() && std::isfinite(item.get<double>()) && item.get<double>() > 0;
      if (!is_time) refuse(path, "a list of times");
      numbers.push_back(item.get<double>());
    }
    return numbers;
  }

  double time(const char* path) const {
    const Json& value = at(path);
    const bool is_time = value.is_number() && value.get<double>() > 0;
    if (!is_time) refuse(path, "a time");
    return value.get<double>();
  }

 private:
  [[noreturn]] void refuse(const char* path, const char* wanted) const {
    fail_bad_input("{}: '{}' is not {}", file_, path, wanted);
  }

  const Json& root_;
  const std::string& file_;
};

Json parsed(std::string_view text, const std::string& file) {
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    fail_bad_input("{}: is not the JSON that 'assay profile --json' prints", file);
  }
  return root;
}

}  // namespace

StoredProfile parse_profile_json(std::string_view text, const std::string& described_as) {
  const Json root = parsed(text, described_as);
  const Reader reader(root, described_as);
  const std::string schema = reader.text("schema");
  if (!schema.starts_with(kSchema)) {
    fail_bad_input("{}: holds '{}', not a profile; 'assay profile --json' writes one", described_as,
                   schema);
  }
  StoredProfile stored;
  stored.model = reader.text("model/name");
  stored.samples_ms = reader.times("latency/samples_ms");
  stored.median_ms = reader.time("latency/median_ms");
  stored.batch = reader.count("options/batch");
  stored.threads =
      static_cast<int>(std::min<std::int64_t>(reader.count("options/threads"), 1 << 20));
  stored.parameters = reader.count("parameters");
  stored.flops = reader.count("flops");
  stored.peak_memory_bytes = reader.count("memory/peak_bytes");
  stored.peak_rss_growth_bytes = reader.count_or_null("memory/peak_rss_growth_bytes");
  stored.verdict = reader.text("latency/verdict");
  return stored;
}

}  // namespace assay
