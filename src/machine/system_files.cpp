#include "machine/system_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/text.h"

namespace assay::machine {

namespace {

constexpr std::size_t kMostShown = 20;  // characters of damaged content

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string damage(const std::string& path, const std::string& content) {
  if (content.empty()) return fmt::format("'{}' is empty", path);
  return fmt::format("'{}' contains '{}', which is not a count", path,
                     without_control_characters(content.substr(0, kMostShown)));
}

std::string why_unreadable(const std::string& path, const std::string& all_such, int error) {
  if (error == EACCES || error == EPERM) {
    return fmt::format("'{}' is readable by root only: sudo chmod a+r {}", path, all_such);
  }
  if (error == ENOENT || error == ENODEV) return fmt::format("'{}' is gone", path);
  return fmt::format("'{}' cannot be read: {}", path,
                     std::error_code(error, std::generic_category()).message());
}

}  // namespace

FileText RealFiles::read(const std::string& path) const {
  const int descriptor = ::open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {.error = errno};
  std::array<char, 4096> page = {};  // the largest sysfs file
  const ssize_t size = ::read(descriptor, page.data(), page.size());
  const int error = errno;
  ::close(descriptor);
  if (size < 0) return {.error = error};
  return {.text = std::string(page.data(), static_cast<std::size_t>(size))};
}

std::vector<std::string> RealFiles::names(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code failed;
  std::filesystem::directory_iterator entries(root_ + folder, failed);
  while (!failed && entries != std::filesystem::directory_iterator()) {
    found.push_back(entries->path().filename().string());
    entries.increment(failed);
  }
  std::ranges::sort(found);
  return found;
}

std::optional<std::string> first_line(const SystemFiles& files, const std::string& path) {
  const auto text = files.read(path).text;
  if (!text) return {};
  // Device tree strings end with a zero byte.
  std::string line = trimmed(text->substr(0, text->find_first_of(std::string_view("\n\0", 2))));
  if (line.empty()) return {};
  return line;
}

MeterValue read_whole(const SystemFiles& files, const std::string& path,
                      const std::string& all_such) {
  const FileText file = files.read(path);
  if (!file.text) {
    return {.why_not = why_unreadable(path, all_such.empty() ? path : all_such, file.error)};
  }
  const std::string content = trimmed(*file.text);
  const auto number = parse_integer(content);
  if (!number) return {.why_not = damage(path, content)};
  return {.value = number};
}

MeterValue read_count(const SystemFiles& files, const std::string& path,
                      const std::string& all_such) {
  const MeterValue read = read_whole(files, path, all_such);
  const bool is_negative = read.value && *read.value < 0;
  return is_negative ? MeterValue{.why_not = damage(path, std::to_string(*read.value))} : read;
}

}  // namespace assay::machine
