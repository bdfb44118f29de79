#include "cli/profile_gate.h"

#include <fmt/core.h>

#include "cli/console.h"

namespace assay::cli {

namespace {

std::string broken_gate(const Profile& profile) {
  if (!profile.uncounted.empty()) {
    const auto& first = profile.uncounted.front();
    return fmt::format("{} '{}' was not counted: {}", first.op, first.node, first.reason);
  }
  for (const ProfileStep& step : profile.steps) {
    if (!step.info.fell_back.empty()) {
      return fmt::format("{} '{}' fell back to the reference kernel: {}", step.info.op,
                         step.info.name, step.info.fell_back);
    }
  }
  if (profile.latency.verdict == Verdict::Noisy) return "the measurement is NOISY";
  return "";
}

}  // namespace

Exit exit_after(const Profile& profile, bool strict) {
  if (profile.was_interrupted()) {
    print_interrupted("these are the results so far");
    return Exit::Interrupted;
  }
  const std::string broken = strict ? broken_gate(profile) : "";
  if (broken.empty()) return Exit::Fine;
  print_error("--strict: " + broken);
  return Exit::GateFailed;
}

}  // namespace assay::cli
