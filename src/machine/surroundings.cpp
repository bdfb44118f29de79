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

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// A user-mode emulator such as qemu shows the files of the machine below it. Newer ones invent
// /proc/cpuinfo, but not the registers that Linux on ARM shows of each processor.
bool is_emulated(const std::string& root) {
  const std::string cpuinfo = root + "/proc/cpuinfo";
  const std::string processor = root + "/sys/devices/system/cpu/cpu0";
  const bool has_arm_registers = exists(processor + "/regs/identification/midr_el1");
#if defined(__aarch64__)
  return has_word(cpuinfo, "vendor_id") || (exists(processor + "/topology") && !has_arm_registers);
#else
  return has_word(cpuinfo, "implementer") || has_arm_registers;
#endif
}

// ARM's processors do not say whether a hypervisor runs below them; the firmware's names do.
bool has_name_of_guest(const std::string& maker, const std::string& product) {
  if (maker == "Amazon EC2") return product.find(".metal") == std::string::npos;
  return maker == "QEMU" || product == "Google Compute Engine" || product == "Virtual Machine";
}

std::optional<std::string> hypervisor_of(const std::string& root) {
  const RealFiles files(root);
  if (auto type = first_line(files, "/sys/hypervisor/type")) return type;
  const auto maker = first_line(files, "/sys/class/dmi/id/sys_vendor");
  const auto product = first_line(files, "/sys/class/dmi/id/product_name");
  const bool is_guest = has_word(root + "/proc/cpuinfo", "hypervisor") ||
                        exists(root + "/proc/device-tree/hypervisor") ||
                        has_name_of_guest(maker.value_or(""), product.value_or(""));
  if (is_guest) return maker.value_or("unnamed");
  return {};
}

bool is_container(const std::string& root) {
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"}) {
    if (exists(root + mark)) return true;
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
