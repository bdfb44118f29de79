#include "cli/folder.h"

#include <algorithm>
#include <set>

#include "base/fail.h"

namespace assay::cli {

namespace {

bool is_harmless(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string harmless(const std::string& name) {
  constexpr std::size_t kLongest = 200;  // file systems allow 255, and an extension follows
  std::string text = name.substr(0, kLongest);
  for (char& c : text) c = is_harmless(c) ? c : '_';
  if (text.empty()) return "output";
  if (text.front() == '.') text.front() = '_';
  return text;
}

}  // namespace

std::vector<std::string> file_names(const std::vector<std::string>& tensor_names) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& tensor_name : tensor_names) {
    const std::string wanted = harmless(tensor_name);
    std::string name = wanted;
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = fmt::format("{}_{}", wanted, number);
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace assay::cli
