#include "sweep/reproducibility.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "assay/engine.h"
#include "assay/version.h"
#include "base/compiler.h"
#include "base/text.h"

namespace assay::sweep {

namespace {

std::string seeds_text(const SweepConfig& config) {
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : config.all_seeds()) seeds.push_back(fmt::format("{}", seed));
  return join(seeds, ", ");
}

// Networks of the zoo are no file: what identifies them is their name.
bool is_sha256(const std::string& identity) {
  constexpr std::size_t kDigits = 64;
  return identity.size() == kDigits && identity.find(' ') == std::string::npos;
}

std::string data_sha256_of(const SweepPlan& plan, std::uint64_t seed) {
  for (const auto& [of_seed, sha256] : plan.data_sha256) {
    if (of_seed == seed) return sha256;
  }
  return "";
}

std::string libraries_text() {
  return fmt::format("{}, fmt {}.{}.{}, nlohmann-json {}.{}.{}",
                     find_engine(default_engine()).library, FMT_VERSION / 10000,
                     FMT_VERSION / 100 % 100, FMT_VERSION % 100, NLOHMANN_JSON_VERSION_MAJOR,
                     NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> reproducibility_of(const SweepPlan& plan,
                                                                    const RunFacts& run) {
  return {
      {"version", std::string(version())},
      {"commit", ASSAY_COMMIT},
      {"cpu", run.host.processor},
      {"processors", fmt::format("{}", run.host.processors)},
      {"host", run.host.host},
      {"machine", run.host.fingerprint},
      {"compiler", kCompiler},
      {"libraries", libraries_text()},
      {"command", run.command},
      {"seed", fmt::format("{}", run.seed)},
      {"seeds", seeds_text(plan.config)},
      {"device_requested", plan.config.device},
      {"device_used", run.devices.empty() ? "cpu" : run.devices},
      {"quantization_backend_requested", plan.config.quantization_backend},
      {"quantization_backend_used", "assay"},
      {"model", plan.config.model},
      {"model_sha256", is_sha256(plan.model_sha256) ? plan.model_sha256 : run.baseline_sha256},
      {"baseline_sha256", run.baseline_sha256},
      {"dataset", plan.config.dataset},
      {"data_sha256", data_sha256_of(plan, run.seed)},
  };
}

}  // namespace assay::sweep
