#include "base/arm_processor.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <vector>

#include "base/text.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace assay {

namespace {

struct KnownCore {
  std::uint32_t implementer;
  std::uint32_t part;
  const char* name;
};

constexpr std::uint32_t kArm = 0x41, kCavium = 0x43, kFujitsu = 0x46, kHiSilicon = 0x48,
                        kNvidia = 0x4e, kQualcomm = 0x51, kMicrosoft = 0x6d, kAmpere = 0xc0;

// The parts of Arm's own cores: "Main ID Register" in each one's reference manual.
constexpr KnownCore kCores[] = {
    {kArm, 0xd03, "Cortex-A53"},  {kArm, 0xd04, "Cortex-A35"},    {kArm, 0xd05, "Cortex-A55"},
    {kArm, 0xd07, "Cortex-A57"},  {kArm, 0xd08, "Cortex-A72"},    {kArm, 0xd09, "Cortex-A73"},
    {kArm, 0xd0a, "Cortex-A75"},  {kArm, 0xd0b, "Cortex-A76"},    {kArm, 0xd0c, "Neoverse-N1"},
    {kArm, 0xd0d, "Cortex-A77"},  {kArm, 0xd0e, "Cortex-A76AE"},  {kArm, 0xd40, "Neoverse-V1"},
    {kArm, 0xd41, "Cortex-A78"},  {kArm, 0xd42, "Cortex-A78AE"},  {kArm, 0xd44, "Cortex-X1"},
    {kArm, 0xd46, "Cortex-A510"}, {kArm, 0xd47, "Cortex-A710"},   {kArm, 0xd48, "Cortex-X2"},
    {kArm, 0xd49, "Neoverse-N2"}, {kArm, 0xd4a, "Neoverse-E1"},   {kArm, 0xd4b, "Cortex-A78C"},
    {kArm, 0xd4c, "Cortex-X1C"},  {kArm, 0xd4d, "Cortex-A715"},   {kArm, 0xd4e, "Cortex-X3"},
    {kArm, 0xd4f, "Neoverse-V2"}, {kArm, 0xd80, "Cortex-A520"},   {kArm, 0xd81, "Cortex-A720"},
    {kArm, 0xd82, "Cortex-X4"},   {kArm, 0xd83, "Neoverse-V3AE"}, {kArm, 0xd84, "Neoverse-V3"},
    {kArm, 0xd85, "Cortex-X925"}, {kArm, 0xd87, "Cortex-A725"},   {kArm, 0xd89, "Cortex-A720AE"},
    {kArm, 0xd8e, "Neoverse-N3"}, {kArm, 0xd8f, "Cortex-A320"},   {kCavium, 0x0af, "ThunderX2"},
    {kFujitsu, 0x001, "A64FX"},   {kHiSilicon, 0xd01, "Kunpeng"}, {kNvidia, 0x003, "Denver 2"},
    {kNvidia, 0x004, "Carmel"},   {kQualcomm, 0x001, "Oryon"},    {kMicrosoft, 0xd49, "Cobalt"},
    {kAmpere, 0xac3, "Ampere-1"}, {kAmpere, 0xac4, "Ampere-1A"},
};

std::uint32_t midr_of(std::uint32_t implementer, std::uint32_t part) {
  return implementer << 24 | part << 4;
}

// The number of "CPU part\t: 0xd08"; nothing if the line begins with something else.
std::optional<std::uint32_t> number_of(std::string_view line, std::string_view key) {
  const auto start = line.find(": 0x");
  if (!line.starts_with(key) || start == std::string_view::npos) return std::nullopt;
  const std::string_view digits = line.substr(start + 4);
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end == digits.data()) return std::nullopt;
  return number;
}

// /proc/cpuinfo has a paragraph for every processor, the implementer before the part.
std::vector<std::uint32_t> cores_of_cpuinfo(const std::string& root) {
  std::vector<std::uint32_t> found;
  std::optional<std::uint32_t> implementer;
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (const auto number = number_of(line, "CPU implementer")) implementer = number;
    const auto part = number_of(line, "CPU part");
    if (part && implementer) found.push_back(midr_of(*implementer, *part));
  }
  return found;
}

// The register of the processor that runs this. Linux answers for it where it says so.
std::vector<std::uint32_t> own_core() {
#if defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) {
    std::uint64_t midr = 0;
    asm("mrs %0, MIDR_EL1" : "=r"(midr));
    return {static_cast<std::uint32_t>(midr)};
  }
#endif
  return {};
}

std::vector<std::string> names_of(const std::vector<std::uint32_t>& cores) {
  std::vector<std::string> names;
  for (const std::uint32_t core : cores) {
    const std::string name = arm_core_name(core);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string board_name(const std::string& root) {
  std::ifstream file(root + "/proc/device-tree/model");
  std::string name;
  std::getline(file, name, '\0');
  return without_control_characters(name);
}

}  // namespace

std::string arm_core_name(std::uint32_t midr) {
  const std::uint32_t implementer = midr >> 24;
  const std::uint32_t part = midr >> 4 & 0xfff;
  const auto* known = std::ranges::find_if(kCores, [&](const KnownCore& core) {
    return core.implementer == implementer && core.part == part;
  });
  if (known != std::end(kCores)) return known->name;
  return fmt::format("ARM core 0x{:x}/0x{:x}", implementer, part);
}

std::optional<std::string> arm_processor_name(const std::string& root) {
  auto cores = cores_of_cpuinfo(root);
  if (cores.empty() && root.empty()) cores = own_core();
  if (cores.empty()) return std::nullopt;
  const std::string board = board_name(root);
  return (board.empty() ? "" : board + ", ") + join(names_of(cores), " + ");
}

}  // namespace assay
