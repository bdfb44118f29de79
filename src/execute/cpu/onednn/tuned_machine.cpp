#include "execute/cpu/onednn/tuned_machine.h"

#include <fmt/core.h>

#include <fstream>

#include "assay/version.h"
#include "base/arm_processor.h"
#include "base/cache_sizes.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

namespace {

std::string processor_name() {
  if (const auto name = arm_processor_name()) return *name;
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

std::string this_machine_and_library() {
  return fmt::format("{}, {} bytes of cache, {}, assay {}, {}", processor_name(),
                     last_cache_bytes(), simd().name, version(), library_version());
}

execute::TuningFile tuning_file_of(const ProgramOptions& options) {
  return {execute::tuning_place(options), this_machine_and_library()};
}

}  // namespace assay::cpu
