#include "store/strict_json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/fail.h"
#include "base/text.h"

namespace assay::store {

namespace {

constexpr int kDeepest = 16;

// Called by the parser at every key and bracket.
class Supervisor {
 public:
  explicit Supervisor(const std::string& file) : file_(file) {}

  bool operator()(int depth, report::Json::parse_event_t event, const report::Json& parsed) {
    if (depth > kDeepest) {
      fail_bad_input("{}: lists and objects are nested more than {} deep", file_, kDeepest);
    }
    if (event == report::Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == report::Json::parse_event_t::object_end) keys_.pop_back();
    if (event == report::Json::parse_event_t::key) note_key(parsed.get<std::string>());
    return true;
  }

 private:
  void note_key(const std::string& key) {
    if (!keys_.back().insert(key).second) {
      fail_bad_input("{}: '{}' is given twice in one object", file_, key);
    }
  }

  const std::string& file_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 where there is none
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

[[noreturn]] void fail_parsing(std::string_view text, const std::string& file,
                               const report::Json::parse_error& error) {
  const bool is_encoding = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
  fail_bad_input("{}: {}: this is not {}", file, place(text, error.byte),
                 is_encoding ? "UTF-8 text" : "JSON");
}

}  // namespace

report::Json strict_json(std::string_view text, const std::string& file, std::size_t largest) {
  if (text.empty()) fail_bad_input("{}: is empty", file);
  if (text.size() > largest) {
    fail_bad_input("{}: has {}, more than the {} that are read", file,
                   with_binary_unit(static_cast<double>(text.size())),
                   with_binary_unit(static_cast<double>(largest)));
  }
  try {
    return report::Json::parse(text, Supervisor(file));
  } catch (const report::Json::parse_error& error) {
    fail_parsing(text, file, error);
  } catch (const report::Json::out_of_range&) {
    fail_bad_input("{}: holds a number that is too large for any use", file);
  }
}

}  // namespace assay::store
