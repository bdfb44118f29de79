#include "profile/studies/rounds.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/fail.h"
#include "base/part_of_progress.h"
#include "profile/assemble.h"
#include "profile/judge.h"
#include "profile/own_ceilings.h"
#include "profile/step_overhead.h"

namespace assay::profile {

namespace {

// Medians of rounds that differ by more than this were disturbed.
constexpr double kSteadyRounds = 0.15;
// Of a round of a setting: short runs take more samples, so that a moment of other load is not all
// that is seen of them.
constexpr double kLeastRoundMs = 50;
// As in a profile: no step can be faster than a ceiling.
constexpr double kAboveCeiling = 1.03;

void check_study(const std::vector<StudySetting>& settings, const StudyOptions& options) {
  if (settings.empty()) fail_usage("a study needs at least one setting");
  if (options.runs == 0 || options.rounds == 0) fail_usage("a study needs at least one run");
}

// The first round tells how many the others take.
std::size_t samples_of_next(const std::vector<Profile>& rounds, const StudyOptions& options) {
  if (rounds.empty()) return options.runs;
  const Measurement& first = rounds.front().latency;
  const double sample_ms = first.latency.median_ms * static_cast<double>(first.runs_per_sample);
  const auto in_time = static_cast<std::size_t>(kLeastRoundMs / std::max(sample_ms, 0.01));
  return std::max(options.runs, in_time);
}

ProfileOptions profile_options(const StudySetting& setting, const StudyOptions& options,
                               std::size_t samples) {
  ProfileOptions one{.run = setting.run, .judge = false};
  one.timing.fixed_warmup = options.warmup;
  one.timing.min_samples = samples;
  one.timing.max_samples = samples;
  one.timing.min_seconds = 0;
  return one;
}

double median_ms(const Profile& profile) {
  return profile.latency.latency.median_ms;
}

// The middle one by latency; of an even number the faster.
Profile middle_round(std::vector<Profile> rounds) {
  std::ranges::sort(rounds, {}, median_ms);
  return std::move(rounds[(rounds.size() - 1) / 2]);
}

// How far the nearest other round is from the one that counts.
double spread_of(const std::vector<Profile>& rounds) {
  std::vector<double> medians;
  for (const Profile& profile : rounds) medians.push_back(median_ms(profile));
  std::ranges::sort(medians);
  const std::size_t middle = (medians.size() - 1) / 2;
  double nearest = medians.size() > 1 ? std::numeric_limits<double>::max() : 0;
  if (middle > 0) nearest = medians[middle] / medians[middle - 1] - 1;
  if (middle + 1 < medians.size()) {
    nearest = std::min(nearest, medians[middle + 1] / medians[middle] - 1);
  }
  return nearest;
}

void warn_if_unsteady(const std::vector<std::vector<Profile>>& all,
                      const std::vector<StudySetting>& settings,
                      std::vector<std::string>& warnings) {
  double widest = 0;
  std::string where;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (spread_of(all[i]) <= widest) continue;
    widest = spread_of(all[i]);
    where = settings[i].what;
  }
  if (widest <= kSteadyRounds) return;
  warnings.push_back(fmt::format(
      "noisy: no two rounds agree within {:.0f} % ({}: {:.0f} %); close other programs, "
      "or measure more `rounds`",
      100 * kSteadyRounds, where, 100 * widest));
}

void judge_all(std::vector<Profile>& profiles, const Machine& machine) {
  for (Profile& profile : profiles) {
    const auto roofline = roofline_for(profile.program, machine);
    if (roofline) judge(profile, *roofline);
  }
}

bool is_above_ceiling(const Profile& profile) {
  return furthest_above_ceiling(profile) >= kAboveCeiling;
}

// Ceilings that a step has passed were measured while the machine was busy: they are measured
// again, once.
void compare_with_ceilings(const StudyOptions& options, Progress* progress,
                           StudiedProfiles& studied) {
  const ProgramOptions& program = studied.profiles.back().program;
  Machine machine = machine_for(program, options.machine, progress);
  judge_all(studied.profiles, machine);
  const auto above = std::ranges::find_if(studied.profiles, is_above_ceiling);
  if (above == studied.profiles.end()) return;
  measure_again_for(above->program, machine, progress);
  judge_all(studied.profiles, machine);
  if (std::ranges::none_of(studied.profiles, is_above_ceiling)) return;
  studied.warnings.push_back(
      "above-ceiling: a step was faster than what was measured as this machine's ceiling; call "
      "`measure_machine` again when nothing else runs");
}

void add_unique(const std::vector<std::string>& more, std::vector<std::string>& warnings) {
  for (const std::string& warning : more) {
    if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
  }
}

// A warning about timing is "name: …"; ten samples of a round nearly always have some.
bool is_timing_warning(const std::string& warning, const Profile& profile) {
  return std::ranges::any_of(profile.latency.warnings, [&](const TimingWarning& timing) {
    return warning.starts_with(timing.name + ":");
  });
}

void add_warnings(const Profile& profile, std::vector<std::string>& warnings) {
  std::vector<std::string> others;
  for (const std::string& warning : profile.warnings) {
    if (!is_timing_warning(warning, profile)) others.push_back(warning);
  }
  add_unique(others, warnings);
}

}  // namespace

void fail_cancelled() {
  throw Error(ErrorKind::Cancelled, "interrupted before the study was complete");
}

void LoadSince::add_to(std::vector<std::string>& warnings) const {
  for (const TimingWarning& load : disturbances(before_, machine_.times())) {
    const bool is_told = std::ranges::any_of(
        warnings, [&](const std::string& warning) { return warning.starts_with(load.name + ":"); });
    if (load.makes_noisy && !is_told) warnings.push_back(warning_text(load));
  }
}

StudiedProfiles profile_in_rounds(const std::vector<StudySetting>& settings,
                                  const StudyOptions& options, Progress* progress) {
  check_study(settings, options);
  const LoadSince load;
  std::vector<std::vector<Profile>> all(settings.size());
  const double parts = static_cast<double>(settings.size() * options.rounds);
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const double done = static_cast<double>(round * settings.size() + i);
      PartOfProgress part(progress, done / parts, (done + 1) / parts, settings[i].what);
      const std::size_t samples = samples_of_next(all[i], options);
      all[i].push_back(profile_model(settings[i].graph, settings[i].name,
                                     profile_options(settings[i], options, samples), &part));
      part.report(1, "");
      if (all[i].back().was_interrupted() || part.cancelled()) fail_cancelled();
    }
  }
  StudiedProfiles studied;
  load.add_to(studied.warnings);
  warn_if_unsteady(all, settings, studied.warnings);
  for (std::vector<Profile>& rounds : all) {
    studied.profiles.push_back(middle_round(std::move(rounds)));
    add_warnings(studied.profiles.back(), studied.warnings);
  }
  compare_with_ceilings(options, progress, studied);
  return studied;
}

RunOptions study_run(const RunOptions& run, const StudyOptions& options) {
  RunOptions one = run;
  one.program = options.program;
  one.seed = options.seed;
  return one;
}

std::optional<Bound> main_bound(const Profile& profile) {
  if (!profile.roofline) return {};
  std::array<double, 3> time_ms = {};
  time_ms[static_cast<std::size_t>(Bound::Overhead)] = profile.between_steps_ms;
  for (const ProfileStep& step : profile.steps) {
    if (step.rates.bound) time_ms[static_cast<std::size_t>(*step.rates.bound)] += step.time_ms;
  }
  const auto most = std::ranges::max_element(time_ms);
  return *most > 0 ? std::optional(static_cast<Bound>(most - time_ms.begin())) : std::nullopt;
}

void set_facts(const Profile& profile, Study& study) {
  study.model = profile.model;
  study.engine = profile.program.engine;
  study.threads = profile.program.cpu.threads;
  study.roofline = profile.roofline;
}

}  // namespace assay::profile
