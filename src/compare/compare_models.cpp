#include "assay/compare_models.h"

#include <algorithm>
#include <random>

#include "assay/machine.h"
#include "assay/stored_profile.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "compare/stored_spread.h"
#include "compare/turn_taker.h"

namespace assay {

using namespace assay::compare;

namespace {

// For one process of many. A process is one observation, so it needs few samples. If the first
// pairs do not decide, later processes take more.
double seconds_to_measure(std::size_t pairs_before, const ComparisonOptions& options) {
  constexpr double kEasyVerdict = 20;       // seconds
  constexpr double kProcessesThatFit = 32;  // more would leave too little time for each
  const double seconds = std::min(kEasyVerdict, options.max_seconds) / kProcessesThatFit;
  return pairs_before < options.min_pairs ? seconds : 2 * seconds;
}

std::vector<std::string> profile_words(const ComparedProcess& compared, double max_seconds) {
  const std::string seconds = fmt::format("{:.3f}", max_seconds);
  std::vector<std::string> words = {"profile",       compared.model, "--json", "--quiet",
                                    "--no-ceilings", "--top",        "1",      "--max-time",
                                    seconds,         "--min-time",   seconds};
  words.insert(words.end(), compared.flags.begin(), compared.flags.end());
  return words;
}

// "error: zoo:x: …" as the child printed it, with the kind that its exit code means.
[[noreturn]] void fail_like(const ChildResult& child, const std::string& model) {
  std::string message = child.error_output.substr(0, child.error_output.find('\n'));
  constexpr std::string_view kLabel = "error: ";
  if (message.starts_with(kLabel)) message = message.substr(kLabel.size());
  if (message.empty()) message = fmt::format("{}: profiling ended with {}", model, child.exit_code);
  constexpr int kUsage = 2;  // exit codes of the command line
  constexpr int kBadInput = 3;
  if (child.exit_code == kUsage) throw Error(ErrorKind::Usage, message);
  if (child.exit_code == kBadInput) throw Error(ErrorKind::BadInput, message);
  throw Error(ErrorKind::Failed, message);
}

// A pair of fresh processes at a time, which measure in turns, until the verdict is certain or the
// time is up.
class Duel {
 public:
  Duel(const ComparedProcesses& models, const ComparisonOptions& options, Progress& progress,
       const IsDecided& is_decided)
      : models_(models), options_(options), progress_(progress), is_decided_(is_decided) {}

  ModelComparison run() {
    const std::int64_t start = steady_clock().nanoseconds();
    const auto elapsed = [&] {
      return static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
    };
    PairTimes times;
    do {
      progress_.report(std::min(1.0, elapsed() / options_.max_seconds), "comparing");
      if (!run_pair()) break;
      result_.result = compare_samples(result_.a.processes, result_.b.processes, options_);
      times = {elapsed(), elapsed() - times.elapsed_seconds};
    } while (needs_another_pair(result_.result.pairs, is_decided_(result_), times, options_));
    return std::move(result_);
  }

 private:
  // False when interrupted after at least one whole pair.
  bool run_pair() {
    const std::size_t pairs = result_.result.pairs;
    const double seconds = seconds_to_measure(pairs, options_);
    try {
      TurnTaker a(models_.program, profile_words(models_.a, seconds), progress_);
      // The first process may tune; the second one reuses its choices.
      if (pairs == 0) wait_until_ready(a, true);
      TurnTaker b(models_.program, profile_words(models_.b, seconds), progress_);
      if (pairs > 0) wait_until_ready(a, true);
      wait_until_ready(b, false);
      while (!a.has_ended() || !b.has_ended()) take_turns(a, b);
      keep(a, true);
      keep(b, false);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Cancelled || pairs == 0) throw;
      forget_after(pairs, result_.a);
      forget_after(pairs, result_.b);
      result_.interrupted = true;
      return false;
    }
  }

  static void forget_after(std::size_t pairs, ComparedSide& side) {
    side.processes.resize(pairs);
    side.process_memory_mb.resize(std::min(pairs, side.process_memory_mb.size()));
  }

  const std::string& model(bool is_a) const { return (is_a ? models_.a : models_.b).model; }

  void wait_until_ready(TurnTaker& process, bool is_a) {
    process.wait_until_ready();
    // It ended before it measured: report that at once.
    if (process.has_ended()) keep(process, is_a);
  }

  // In random order, so that nothing periodic on the machine can correlate with it.
  void take_turns(TurnTaker& a, TurnTaker& b) {
    const bool a_first = chance_() % 2 == 0;
    (a_first ? a : b).take_turn();
    (a_first ? b : a).take_turn();
  }

  void keep(TurnTaker& process, bool is_a) {
    const ChildResult child = process.result();
    if (child.exit_code != 0) fail_like(child, model(is_a));
    ComparedSide& side = is_a ? result_.a : result_.b;
    side.profile = parse_profile_json(child.output, model(is_a));
    side.processes.push_back({side.profile.samples_ms, child.samples_by_turn});
    const auto grew = side.profile.peak_rss_growth_bytes;
    if (grew) side.process_memory_mb.push_back(in_mb(*grew));
  }

  const ComparedProcesses& models_;
  const ComparisonOptions& options_;
  Progress& progress_;
  const IsDecided& is_decided_;
  ModelComparison result_;
  std::mt19937 chance_{1};
};

}  // namespace

bool has_verdict(const ModelComparison& comparison) {
  return comparison.result.verdict != ComparisonVerdict::Undecided;
}

ModelComparison run_in_turns(const ComparedProcesses& models, const ComparisonOptions& options,
                             Progress& progress, const IsDecided& is_decided) {
  return Duel(models, options, progress, is_decided).run();
}

StoredProfile profile_alone(const ComparedProcess& process, const std::filesystem::path& program,
                            const ComparisonOptions& options, Progress& progress) {
  constexpr double kEnough = 10;  // seconds
  TurnTaker measuring(program, profile_words(process, std::min(kEnough, options.max_seconds)),
                      progress);
  measuring.wait_until_ready();
  while (!measuring.has_ended()) {
    progress.report(0, "measuring");
    measuring.take_turn();
  }
  const ChildResult child = measuring.result();
  if (child.exit_code != 0) fail_like(child, process.model);
  return parse_profile_json(child.output, process.model);
}

namespace {

ComparedSide stored_side(const StoredProfile& profile) {
  ComparedSide side{.profile = profile};
  side.processes = {{profile.samples_ms}};
  if (profile.peak_rss_growth_bytes) {
    side.process_memory_mb = {in_mb(*profile.peak_rss_growth_bytes)};
  }
  return side;
}

}  // namespace

ModelComparison compare_profiles(const StoredProfile& a, const StoredProfile& b,
                                 const ComparisonOptions& options) {
  ModelComparison comparison;
  comparison.a = stored_side(a);
  comparison.b = stored_side(b);
  comparison.interleaved = false;
  const StoredSpread spread = spread_of_stored(a, b);
  ComparisonOptions widened = options;
  widened.assumed_process_deviation = spread.deviation;
  comparison.result = compare_stored(a.samples_ms, b.samples_ms, widened);
  comparison.warnings.push_back(
      fmt::format("stored profiles were not run in turns: the interval allows for processes that "
                  "differ by {:.2g} % ({}); compare the models themselves to be sure",
                  100 * spread.deviation, spread.origin));
  const std::size_t samples = std::min(a.samples_ms.size(), b.samples_ms.size());
  if (samples < kFewestStoredSamples) {
    comparison.warnings.push_back(fmt::format(
        "{} sample{} of a stored profile {} too few for a verdict, it takes {}: measure "
        "it for longer",
        samples, samples == 1 ? "" : "s", samples == 1 ? "is" : "are", kFewestStoredSamples));
  }
  return comparison;
}

void warn_of_settings(ModelComparison& comparison) {
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  if (a.threads != b.threads) {
    comparison.warnings.push_back(
        fmt::format("A ran on {} threads, B on {}", a.threads, b.threads));
  }
  if (a.batch != b.batch) {
    comparison.warnings.push_back(fmt::format("A ran with batch {}, B with {}", a.batch, b.batch));
  }
}

}  // namespace assay
