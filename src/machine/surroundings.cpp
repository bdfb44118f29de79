#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/machine.h"
#include "machine/system_files.h"

namespace assay {

using namespace assay::machine;

namespace {

bool has_word(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string found; file >> found;) {
    if (found == word) return true;
  }
  return false;
}

// A user-mode emulator such as qemu shows the files of the machine below it.
#if defined(__aarch64__)
constexpr const char* kWordOfOthers = "vendor_id";
#else
constexpr const char* kWordOfOthers = "implementer";
#endif

bool is_emulated(const std::string& root) {
  return has_word(root + "/proc/cpuinfo", kWordOfOthers);
}

std::optional<std::string> hypervisor_of(const std::string& root) {
  const RealFiles files(root);
  if (auto type = first_line(files, "/sys/hypervisor/type")) return type;
  const bool is_virtual = has_word(root + "/proc/cpuinfo", "hypervisor");
  const auto maker = first_line(files, "/sys/class/dmi/id/sys_vendor");
  if (is_virtual) return maker.value_or("unnamed");
  return {};
}

bool is_container(const std::string& root) {
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"}) {
    std::error_code failed;
    if (std::filesystem::exists(root + mark, failed)) return true;
  }
  std::ifstream file(root + "/proc/1/cgroup");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* keeper : {"docker", "kubepods", "lxc"}) {
    if (text.str().find(keeper) != std::string::npos) return true;
  }
  return false;
}

std::optional<double> load_of(const std::string& root) {
  std::ifstream file(root + "/proc/loadavg");
  double load = 0;
  if (!(file >> load)) return {};
  return load;
}

}  // namespace

Surroundings read_surroundings(const std::string& root) {
  Surroundings found;
  found.governor =
      first_line(RealFiles(root), "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  found.hypervisor = hypervisor_of(root);
  found.is_container = is_container(root);
  found.load = load_of(root);
  if (!found.governor) {
    found.notes.emplace_back("no cpufreq: the processor's frequency is not known");
  }
  if (is_emulated(root)) {
    found.notes.emplace_back("an emulated processor: times are those of the emulator");
  } else if (found.hypervisor) {
    found.notes.emplace_back(
        "a virtual machine: other guests may take processor time, cache and bandwidth unnoticed");
  }
  if (!found.load) found.notes.emplace_back("no /proc/loadavg: the load is not known");
  return found;
}

}  // namespace assay
