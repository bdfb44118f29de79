#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace assay {

// What the file holds, byte by byte; empty where there is none.
inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace assay
