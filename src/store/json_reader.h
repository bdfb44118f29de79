// Reads fields of untrusted JSON: every field is checked, and errors name the path of its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/json_parts.h"

namespace assay::store {

class JsonReader {
 public:
  // Both must outlive the reader. `file` is its name in messages.
  JsonReader(const report::Json& root, const std::string& file) : root_(root), file_(file) {}

  // A path of keys: "latency/median_ms".
  const report::Json& at(const char* path) const;
  std::string text(const char* path) const;
  std::optional<std::string> text_or_null(const char* path) const;
  std::vector<std::string> texts(const char* path) const;
  // Checks that the schema begins like this; otherwise the file is not a `what`, which `command`
  // prints.
  void check_schema(std::string_view beginning, std::string_view what,
                    std::string_view command) const;
  bool flag(const char* path) const;
  std::int64_t count(const char* path) const;  // 0 or more
  int small_count(const char* path) const;     // at most a million
  std::vector<int> small_counts(const char* path) const;
  std::optional<std::int64_t> count_or_null(const char* path) const;
  bool has(const char* key) const;
  double at_least_zero(const char* path) const;       // finite
  double rate(const char* path) const;                // finite and above 0: a time, a bandwidth
  std::vector<double> rates(const char* path) const;  // at least one
  // Each is an object, read by `read(JsonReader)`.
  template <typename Read>
  void each(const char* path, Read read) const {
    for (const report::Json& item : list(path)) read(JsonReader(item, file_));
  }
  const std::string& file() const { return file_; }
  [[noreturn]] void refuse(const char* path, const char* wanted) const;

 private:
  const report::Json& list(const char* path) const;

  const report::Json& root_;
  const std::string& file_;
};

// What a stored result is called, how its schema begins, and which command prints it.
struct ResultKind {
  std::string_view name;
  std::string_view schema;
  std::string_view command;
};

// A stored result of a kind; any other text is an Error. Its readers must not outlive it.
class StoredResult {
 public:
  StoredResult(std::string_view text, std::string file, const ResultKind& kind);

  JsonReader reader() const { return JsonReader(root_, file_); }

 private:
  std::string file_;
  report::Json root_;
};

}  // namespace assay::store
