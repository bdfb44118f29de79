#include "timing/board_throttling.h"

#include <fmt/core.h>
#include <stdio.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace assay::timing {

namespace {

// Bits 0 to 3 hold now, the same bits 16 higher have held at some time since the board was started:
// https://www.raspberrypi.com/documentation/computers/os.html#get_throttled
constexpr std::uint32_t kUnderVoltage = 1;
constexpr std::uint32_t kFrequencyCapped = 2;
constexpr std::uint32_t kThrottled = 4;
constexpr std::uint32_t kTooWarm = 8;
constexpr int kSinceStart = 16;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

// /sys/devices/platform/soc/soc:firmware/get_throttled; the names of the folders differ between
// models ("soc@107c000000").
std::optional<std::uint32_t> throttled_of_kernel(const std::string& root) {
  std::error_code failed;
  const std::filesystem::path platform = root + "/sys/devices/platform";
  for (const auto& chip : std::filesystem::directory_iterator(platform, failed)) {
    if (!chip.path().filename().string().starts_with("soc")) continue;
    for (const auto& part : std::filesystem::directory_iterator(chip.path(), failed)) {
      if (!part.path().filename().string().ends_with("firmware")) continue;
      if (const auto flags = parse_throttled(text_of(part.path() / "get_throttled"))) return flags;
    }
  }
  return std::nullopt;
}

// The kernel's own meter, without Raspberry Pi's changes to the kernel: under-voltage alone.
std::optional<std::uint32_t> alarm_of_kernel(const std::string& root) {
  std::error_code failed;
  const std::filesystem::path meters = root + "/sys/class/hwmon";
  for (const auto& meter : std::filesystem::directory_iterator(meters, failed)) {
    if (text_of(meter.path() / "name") != "rpi_volt") continue;
    const std::string alarm = text_of(meter.path() / "in0_lcrit_alarm");
    if (!alarm.empty()) return alarm == "0" ? 0 : kUnderVoltage;
  }
  return std::nullopt;
}

bool is_raspberry_pi(const std::string& root) {
  return text_of(root + "/proc/device-tree/model").starts_with("Raspberry Pi");
}

// What holds at the end, held at the start, or happened in between.
std::uint32_t held_between(std::uint32_t before, std::uint32_t after) {
  return before | after | (after & ~before) >> kSinceStart;
}

TimingWarning under_voltage(std::uint32_t flags) {
  return {"under-voltage",
          fmt::format("the board's supply fell below 4.63 V (flags 0x{:x}), and its processor may "
                      "have run more slowly",
                      flags),
          "use the power supply that the board's maker recommends, unplug USB devices, and measure "
          "again",
          true};
}

TimingWarning throttling(std::uint32_t flags, std::uint32_t held) {
  const auto* seen = (held & kThrottled) != 0 ? "throttled the processor"
                     : (held & kTooWarm) != 0 ? "lowered the frequency of a warm processor"
                                              : "capped the processor's frequency";
  return {"throttling", fmt::format("the board's firmware {} (flags 0x{:x})", seen, flags),
          "cool the board with a heat sink and a fan, let it cool down, and measure again", true};
}

}  // namespace

std::optional<std::string> run_get_throttled() {
  FILE* pipe = ::popen("vcgencmd get_throttled 2>/dev/null", "re");
  if (pipe == nullptr) return std::nullopt;
  std::array<char, 64> line = {};
  const std::size_t size = ::fread(line.data(), 1, line.size(), pipe);
  if (::pclose(pipe) != 0) return std::nullopt;
  return std::string(line.data(), size);
}

std::optional<std::uint32_t> parse_throttled(std::string_view text) {
  for (const std::string_view start : {"throttled=", "0x"}) {
    if (text.starts_with(start)) text.remove_prefix(start.size());
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::uint32_t flags = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), flags, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return flags;
}

std::optional<std::uint32_t> read_throttled(const std::string& root, const RunGetThrottled& run) {
  if (!is_raspberry_pi(root)) return std::nullopt;
  const auto printed = run ? run() : std::nullopt;
  if (printed) {
    if (const auto flags = parse_throttled(*printed)) return flags;
  }
  if (const auto flags = throttled_of_kernel(root)) return flags;
  return alarm_of_kernel(root);
}

std::vector<TimingWarning> board_warnings(const MachineTimes& before, const MachineTimes& after) {
  if (!before.throttled || !after.throttled) return {};
  const std::uint32_t held = held_between(*before.throttled, *after.throttled);
  std::vector<TimingWarning> warnings;
  if ((held & kUnderVoltage) != 0) warnings.push_back(under_voltage(*after.throttled));
  if ((held & (kFrequencyCapped | kThrottled | kTooWarm)) != 0) {
    warnings.push_back(throttling(*after.throttled, held));
  }
  return warnings;
}

}  // namespace assay::timing
