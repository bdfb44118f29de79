#include "cli/cache.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/error.h"
#include "base/atomic_file.h"

namespace assay::cli {

namespace {

std::optional<std::filesystem::path> cache_folder() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : nullptr;
  };
  if (const char* cache = set("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "assay";
  if (const char* home = set("HOME")) return std::filesystem::path(home) / ".cache" / "assay";
  return {};
}

// FNV-1a: short, and the same on every machine.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::optional<std::string> cache_path(const std::string& kind, const std::string& subject) {
  const auto folder = cache_folder();
  if (!folder) return {};
  return *folder / fmt::format("{}-{:016x}.json", kind, hash_of(subject));
}

std::optional<std::string> kept_text(const std::optional<std::string>& path) {
  if (!path) return {};
  std::ifstream file(*path);
  if (!file) return {};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string keep_text(const std::optional<std::string>& path, const std::string& text,
                      const std::string& what) {
  if (!path) {
    return fmt::format("neither XDG_CACHE_HOME nor HOME is set: {} not kept for next time", what);
  }
  try {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), failed);
    write_file(*path, text);
    return "";
  } catch (const Error& error) {
    return fmt::format("{} not kept for next time: {}", what, error.what());
  }
}

}  // namespace assay::cli
