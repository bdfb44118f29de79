#include <algorithm>
#include <array>

#include "assay/advice.h"
#include "profile/advice/rules.h"

namespace assay {

using namespace assay::profile;

namespace {

struct Rule {
  const char* name;
  std::optional<Advice> (*apply)(const RunFacts& facts);
  bool needs_ceilings = true;
  bool about_reference = false;  // applies only to runs of the reference engine
};

constexpr std::array kRules = {
    Rule{"memory-bound-weights", memory_bound_weights},
    Rule{"small-batch", small_batch},
    Rule{"unfused-elementwise", unfused_elementwise},
    Rule{"memory-bound-activations", memory_bound_activations},
    Rule{"inefficient-depthwise", inefficient_depthwise},
    Rule{"winograd-not-allowed", winograd_not_allowed},
    Rule{"padding-waste", padding_waste},
    Rule{"odd-channels", odd_channels},
    Rule{"lower-precision", lower_precision},
    Rule{"fell-back", fell_back, false},
    // Times of the plain kernels say nothing about the model, so no other rule applies.
    Rule{"reference-engine", reference_engine, false, true},
    Rule{"overhead", overhead},
    Rule{"layout-changes", layout_changes, false},
    Rule{"start-up", start_up, false},
};

bool applies(const Rule& rule, const Profile& profile, bool is_reference) {
  return rule.about_reference == is_reference && (!rule.needs_ceilings || profile.roofline);
}

bool is_worth_it(const Advice& advice, double run_ms) {
  constexpr double kWorthIt = 0.01;
  return advice.saving_ms >= kWorthIt * run_ms;
}

bool ranks_before(const Advice& one, const Advice& other) {
  return one.once != other.once ? other.once : one.saving_ms > other.saving_ms;
}

}  // namespace

std::vector<Advice> advise(const Profile& profile) {
  constexpr std::size_t kMost = 8;
  std::vector<Advice> all;
  if (profile.run_ms() <= 0) return all;
  const RunFacts facts(profile);
  const bool is_reference = !profile.imported && find_engine(profile.program.engine).is_reference;
  for (const Rule& rule : kRules) {
    if (!applies(rule, profile, is_reference)) continue;
    auto advice = rule.apply(facts);
    if (!advice || !is_worth_it(*advice, profile.run_ms())) continue;
    advice->rule = rule.name;
    all.push_back(std::move(*advice));
  }
  std::ranges::stable_sort(all, ranks_before);
  if (all.size() > kMost) all.resize(kMost);
  return all;
}

}  // namespace assay
