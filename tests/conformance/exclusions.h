// Names of conformance models that are left out, each with its reason: one a line, '#' comments.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace assay {

inline std::map<std::string, std::string> read_exclusions(const std::filesystem::path& path) {
  std::map<std::string, std::string> reasons;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, reason;
    if (line.starts_with('#') || !(words >> name)) continue;
    std::getline(words >> std::ws, reason);
    reasons[name] = reason;
  }
  return reasons;
}

}  // namespace assay
