// Algorithms that were chosen by measurement, kept in a file: the next process compiles the same
// program at once. Choices of other machines, other processors' instruction sets and other versions
// of oneDNN share the file and do not touch each other.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace assay::cpu {

class TuningFile {
 public:
  // An empty path keeps choices for this process alone. Throws an Error if a file is there that is
  // no tuning file.
  explicit TuningFile(std::filesystem::path path);

  std::optional<std::string> find(const std::string& question) const;
  void add(const std::string& question, const std::string& answer);
  // Writes what was added, beside what another process wrote meanwhile.
  void save();

 private:
  std::filesystem::path path_;
  std::string machine_;
  std::map<std::string, std::string> answers_;  // by machine and question
  bool has_news_ = false;
};

}  // namespace assay::cpu
