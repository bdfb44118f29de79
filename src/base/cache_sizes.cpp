#include "base/cache_sizes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/text.h"

namespace assay {

namespace {

using Path = std::filesystem::path;

constexpr std::size_t kMostLevels = 8;  // a damaged tree may refer to itself

std::vector<Path> sorted_folders(const Path& folder) {
  std::vector<Path> found;
  std::error_code failed;
  std::filesystem::directory_iterator entries(folder, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
    if (entries->is_directory(failed)) found.push_back(entries->path());
  }
  std::ranges::sort(found);
  return found;
}

// --- sysfs: cpu0/cache/index2/{level,type,size,shared_cpu_list}

std::string word_of(const Path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "512K"
std::optional<std::int64_t> bytes_of_size(std::string text) {
  std::int64_t unit = 1;
  if (text.ends_with('K')) unit = 1 << 10;
  if (text.ends_with('M')) unit = 1 << 20;
  if (unit > 1) text.pop_back();
  const auto number = parse_integer(text);
  if (!number || *number <= 0 || *number > (std::int64_t{1} << 40) / unit) return std::nullopt;
  return *number * unit;
}

// "0-3,8"
int count_of_list(const std::string& list) {
  std::int64_t count = 0;
  for (const std::string& part : split(list, ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_integer(ends.front());
    const auto last = parse_integer(ends.back());
    if (first && last && *last >= *first && *last < 1 << 20) count += *last - *first + 1;
  }
  return static_cast<int>(std::max<std::int64_t>(1, count));
}

std::vector<CacheSize> sizes_of_sysfs(const std::string& root) {
  std::vector<CacheSize> caches;
  for (const Path& folder : sorted_folders(root + "/sys/devices/system/cpu/cpu0/cache")) {
    const auto level = parse_integer(word_of(folder / "level"));
    const auto bytes = bytes_of_size(word_of(folder / "size"));
    if (!level || !bytes || word_of(folder / "type") == "Instruction") continue;
    caches.push_back({.level = static_cast<int>(std::clamp<std::int64_t>(*level, 1, 9)),
                      .bytes = *bytes,
                      .processors = count_of_list(word_of(folder / "shared_cpu_list"))});
  }
  std::ranges::sort(caches, {}, &CacheSize::level);
  return caches;
}

// --- device tree: a folder for every processor, files of big-endian numbers

std::optional<std::uint32_t> number_in(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, 4> bytes = {};
  if (!file.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) return std::nullopt;
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

struct DeviceTree {
  std::vector<Path> processors = {};
  std::vector<Path> nodes = {};  // where caches may be described

  std::optional<Path> find(std::uint32_t handle) const {
    const auto found = std::ranges::find_if(
        nodes, [&](const Path& node) { return number_in(node / "phandle") == handle; });
    return found == nodes.end() ? std::nullopt : std::optional(*found);
  }

  // The caches behind a processor's first one, by their handles.
  std::vector<std::uint32_t> caches_behind(const Path& processor) const {
    std::vector<std::uint32_t> handles;
    auto next = number_in(processor / "next-level-cache");
    while (next && handles.size() < kMostLevels) {
      handles.push_back(*next);
      const auto node = find(*next);
      next = node ? number_in(*node / "next-level-cache") : std::nullopt;
    }
    return handles;
  }
};

DeviceTree read_device_tree(const std::string& root) {
  DeviceTree tree;
  for (const Path& node : sorted_folders(root + "/proc/device-tree/cpus")) {
    tree.nodes.push_back(node);
    if (node.filename().string().starts_with("cpu@")) tree.processors.push_back(node);
    for (const Path& inner : sorted_folders(node)) tree.nodes.push_back(inner);
  }
  for (const Path& node : sorted_folders(root + "/proc/device-tree")) {
    if (node.filename().string().find("cache") != std::string::npos) tree.nodes.push_back(node);
  }
  return tree;
}

int processors_with(const DeviceTree& tree, std::uint32_t handle) {
  return static_cast<int>(std::ranges::count_if(tree.processors, [&](const Path& processor) {
    const auto behind = tree.caches_behind(processor);
    return std::ranges::find(behind, handle) != behind.end();
  }));
}

}  // namespace

std::vector<CacheSize> cache_sizes_of_device_tree(const std::string& root) {
  const DeviceTree tree = read_device_tree(root);
  std::vector<CacheSize> caches;
  if (tree.processors.empty()) return caches;
  const Path& first = tree.processors.front();
  if (const auto bytes = number_in(first / "d-cache-size")) caches.push_back({.bytes = *bytes});
  std::uint32_t level = 1;
  for (const std::uint32_t handle : tree.caches_behind(first)) {
    ++level;
    const auto node = tree.find(handle);
    if (const auto given = node ? number_in(*node / "cache-level") : std::nullopt)
      level = std::max(level, std::min<std::uint32_t>(*given, 9));
    const auto bytes = node ? number_in(*node / "cache-size") : std::nullopt;
    if (!bytes || *bytes == 0) continue;
    caches.push_back({.level = static_cast<int>(level),
                      .bytes = *bytes,
                      .processors = processors_with(tree, handle)});
  }
  return caches;
}

std::vector<CacheSize> cache_sizes(const std::string& root) {
  auto caches = sizes_of_sysfs(root);
  return caches.empty() ? cache_sizes_of_device_tree(root) : caches;
}

std::int64_t last_cache_bytes() {
#if defined(__aarch64__)
  constexpr std::int64_t kUsual = std::int64_t{1} << 20;
#else
  constexpr std::int64_t kUsual = std::int64_t{32} << 20;
#endif
  static const std::int64_t bytes = [] {
    if (const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE); last > 0) return std::int64_t{last};
    const auto caches = cache_sizes();
    return caches.empty() ? kUsual : caches.back().bytes;
  }();
  return bytes;
}

}  // namespace assay
