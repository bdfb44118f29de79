#include "cli/page.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>

#include "assay/error.h"
#include "assay/page.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/system_error.h"
#include "cli/origin.h"

namespace assay::cli {

void add_page_option(Command& command, std::string& file) {
  command.add_option("--html FILE", file,
                     "also write the result as a page with charts, one HTML file");
}

namespace {

// Separated by zeros.
std::string own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// The models that the command names. One that was written meanwhile is hashed as it is now.
std::vector<PageSource> own_models() {
  std::vector<PageSource> models;
  const std::string words = own_words();
  for (const auto word : std::views::split(words, '\0')) {
    const std::string path(word.begin(), word.end());
    std::error_code ignored;
    if (path.ends_with(".onnx") && std::filesystem::is_regular_file(path, ignored)) {
      models.push_back({path, sha256_of_file(path)});
    }
  }
  return models;
}

}  // namespace

std::string own_command() {
  std::string text = own_words();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

PageFile::PageFile(const std::string& path)
    : file_(path.empty() ? nullptr : std::make_unique<AtomicFile>(path)) {}

std::string result_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_bad_input("{}: cannot be read: {}", path.string(), last_system_error());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string record_in(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "reproducibility.json";
  if (!std::filesystem::is_regular_file(path)) return "";
  std::string text = result_text(path);
  try {
    result_schema(text, path.string());
  } catch (const Error&) {
    return "";
  }
  return text;
}

void PageFile::put(const std::string& name, std::string json, std::string record) {
  file_->write(page_html({.documents = {{name, with_origin(std::move(json)), std::move(record)}},
                          .command = own_command(),
                          .sources = own_models()}));
  file_->commit();
}

}  // namespace assay::cli
