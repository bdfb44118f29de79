#include "cli/profile_set.h"

#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/profile_gate.h"

namespace assay::cli {

namespace {

// "1,4,16"; one empty word where the option is not given.
std::vector<std::string> words_of(const std::string& list) {
  return list.empty() ? std::vector<std::string>{""} : split(list, ',');
}

// Options about one result.
void check_flags(const ProfileArguments& arguments) {
  const std::pair<const char*, bool> not_for_several[] = {
      {"--ops", arguments.ops},
      {"--steps", arguments.steps},
      {"--explain", arguments.explain},
      {"--sort", !arguments.sort.empty()},
      {"--columns", !arguments.columns.empty()},
      {"--top", !arguments.top.empty()},
      {"--trace", !arguments.trace.empty()},
      {"--out", !arguments.folder.empty()},
      {"--html", !arguments.html.empty()},
      {"--import", !arguments.import_file.empty()},
      {"--node-data", !arguments.node_data.empty()},
      {"--benchmark-json", !arguments.benchmark_json.empty()},
      {"--annotate", !arguments.annotate.empty()},
      {"--roofline", arguments.roofline},
      {"--hardware", arguments.hardware},
      {"--memory-bandwidth-gbps", !arguments.memory_bandwidth_gbps.empty()},
      {"--peak-compute-gmacs", !arguments.peak_compute_gmacs.empty()},
      {"--decode", !arguments.decode.empty()},
      {"--train", arguments.training.train}};
  for (const auto& [flag, is_given] : not_for_several) {
    if (is_given) fail_usage("{} needs one model, one batch and one number of threads", flag);
  }
  check_is_unused(arguments.training);
}

std::string setting_of(const Profile& profile) {
  const int threads = profile.program.cpu.threads;
  const std::string setting = fmt::format("{}, batch {}", profile.model.name, profile.batch);
  if (threads == 0) return setting;
  return fmt::format("{}, {} {}", setting, threads, threads == 1 ? "thread" : "threads");
}

bool is_about_timing(const std::string& warning, const Measurement& measured) {
  return std::ranges::any_of(measured.warnings, [&](const TimingWarning& timing) {
    return warning.starts_with(timing.name + ":");
  });
}

// One line for each setting that is noisy, and every other warning once.
void print_setting_warnings(const std::vector<Profile>& profiles, bool quiet) {
  std::vector<std::string> warnings;
  for (const Profile& profile : profiles) {
    std::vector<std::string> reasons;
    for (const TimingWarning& timing : profile.latency.warnings) reasons.push_back(timing.name);
    if (!reasons.empty()) warnings.push_back(setting_of(profile) + ": " + join(reasons, ", "));
    for (const std::string& warning : profile.warnings) {
      const bool is_known = std::ranges::find(warnings, warning) != warnings.end();
      if (!is_known && !is_about_timing(warning, profile.latency)) warnings.push_back(warning);
    }
  }
  print_short_warnings(warnings, quiet);
}

// What was measured before Ctrl-C is not lost.
std::vector<Profile> profiles_of(const std::vector<ProfileArguments>& settings,
                                 const std::function<Profile(const ProfileArguments&)>& profile) {
  std::vector<Profile> profiles;
  for (const ProfileArguments& setting : settings) {
    try {
      profiles.push_back(profile(setting));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled || profiles.empty()) throw;
    }
    if (interrupted()) break;
  }
  return profiles;
}

Exit exit_after_all(const std::vector<Profile>& profiles, bool strict) {
  if (interrupted()) {
    print_interrupted("these are the results so far");
    return Exit::Interrupted;
  }
  for (const Profile& profile : profiles) {
    const Exit code = exit_after(profile, strict);
    if (code != Exit::Fine) return code;
  }
  return Exit::Fine;
}

}  // namespace

std::vector<ProfileArguments> profile_settings(const ProfileArguments& arguments) {
  std::vector<ProfileArguments> settings;
  for (const std::string& model : arguments.models) {
    for (const std::string& batch : words_of(arguments.model.batch)) {
      for (const std::string& threads : words_of(arguments.engine.threads)) {
        ProfileArguments one = arguments;
        one.model.model = model;
        one.model.batch = batch;
        one.engine.threads = threads;
        settings.push_back(std::move(one));
      }
    }
  }
  return settings;
}

Exit run_profile_set(const ProfileArguments& arguments,
                     const std::vector<ProfileArguments>& settings, bool quiet,
                     const std::function<Profile(const ProfileArguments&)>& profile) {
  check_flags(arguments);
  const std::vector<Profile> profiles = profiles_of(settings, profile);
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return profiles_table(profiles, layout); },
      [&] { return profiles_json(profiles); }, [&] { return profiles_csv(profiles); }));
  print_setting_warnings(profiles, quiet);
  return exit_after_all(profiles, arguments.strict);
}

}  // namespace assay::cli
