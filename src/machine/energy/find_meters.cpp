#include <fmt/core.h>
#include <stdio.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "gpu/shared_library.h"
#include "machine/energy/sources.h"

namespace assay {

using namespace assay::machine;

namespace {

std::optional<std::string> run_vcgencmd() {
  FILE* pipe = ::popen("vcgencmd pmic_read_adc 2>/dev/null", "re");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> part = {};
  while (const std::size_t size = ::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), size);
  }
  if (::pclose(pipe) != 0) return {};
  return text;
}

// It stays open: NVML keeps memory for ever, which LeakSanitizer can only ascribe to a loaded
// library.
FindSymbol load_shared_library(const char* name) {
  const std::array<std::string, 1> names = {name};
  const auto library = gpu::SharedLibrary::open(names, gpu::library_folders());
  if (!library.is_open()) return {};
  return [library](const char* symbol) { return library.find(symbol); };
}

// Meters with a lower rank are preferred.
int rank(const MeterInfo& info) {
  if (info.source == "RAPL") return 0;
  if (info.source == "INA3221") return 1;
  if (info.source == "PMIC") return 2;
  return info.scope == MeterScope::Board ? 3 : 4;
}

}  // namespace

std::string_view name(MeterKind kind) {
  return kind == MeterKind::Energy ? "energy" : "power";
}

std::string_view name(MeterScope scope) {
  switch (scope) {
    case MeterScope::Processor:
      return "processor";
    case MeterScope::Board:
      return "board";
    case MeterScope::Accelerator:
      return "accelerator";
    case MeterScope::Other:
      break;
  }
  return "other";
}

std::string covers(const MeterInfo& info) {
  std::vector<std::string> counted;
  for (const MeterChannel& channel : info.channels) {
    if (channel.is_counted) counted.push_back(channel.name);
  }
  return join(counted, " + ");
}

EnergyMeters machine::find_energy_meters(const MeterSources& sources) {
  EnergyMeters found;
  for (const auto find : {find_rapl, find_ina3221, find_pmic, find_hwmon, find_nvml}) {
    find(sources, found);
  }
  return found;
}

EnergyMeters find_energy_meters(const std::string& root) {
  MeterSources sources = {.files = std::make_shared<RealFiles>(root)};
  if (root.empty()) {  // a command and a library belong to the real machine
    sources.run_pmic = run_vcgencmd;
    sources.load_library = load_shared_library;
  }
  return find_energy_meters(sources);
}

std::string why_no_meter(const EnergyMeters& found) {
  if (!found.notes.empty()) return join(found.notes, "; ");
  return join(found.absent, ", ");
}

EnergyMeter* primary_meter(const EnergyMeters& found) {
  EnergyMeter* best = nullptr;
  for (const auto& meter : found.meters) {
    if (meter->info().scope == MeterScope::Accelerator) continue;
    if (best == nullptr || rank(meter->info()) < rank(best->info())) best = meter.get();
  }
  return best;
}

}  // namespace assay
