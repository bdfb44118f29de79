#include "execute/cuda/contest.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>

#include "assay/error.h"
#include "assay/timing.h"
#include "assay/version.h"
#include "base/fail.h"
#include "execute/cuda/log.h"
#include "execute/cuda/lowering.h"
#include "execute/cuda/trial.h"

namespace assay::cuda {

namespace {

constexpr int kFewestRounds = 3;
constexpr int kMostRounds = 15;
constexpr double kEnoughMs = 4;        // of a step's rounds
constexpr double kHopeless = 1.3;      // after a round, compared with the best
constexpr double kHopelessAtOnce = 4;  // at first sight, which the processor's launches blur
constexpr double kBlurMs = 0.05;
// Libraries compile some of their algorithms: no more are prepared once this has taken so long.
constexpr std::int64_t kLongPreparing = 1'000'000'000;  // nanoseconds
constexpr std::size_t kEnoughCandidates = 3;
// More than any algorithm is worth, and than trials of the others should wait for.
constexpr std::int64_t kMostWorkspace = std::int64_t{2} << 30;

// The device, and every library that may compute something.
std::string machine_of(const gpu::Device& device) {
  return fmt::format("{}, compute capability {}, {}, NVRTC {}, assay {}", device.facts().name,
                     device.facts().compute_capability, device.libraries().versions(),
                     device.libraries().nvrtc_version, version());
}

std::string hash_of(const std::vector<Candidate>& candidates) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const Candidate& candidate : candidates)
    for (const char letter : candidate.key + ';')
      hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ull;
  return fmt::format("{:016x}", hash);
}

// How far a library's result may be from our own kernel's, relative to the largest number: sums are
// made in another order, and of numbers rounded to the type.
double tolerance(DataType type, const std::string& precision) {
  if (type == DataType::BFloat16) return 0.1;
  if (type == DataType::Float16 || !is_floating(type)) return 0.02;
  return precision == "tf32" ? 0.02 : 1e-3;
}

// Of everything that is read or written, the coarsest type counts: a product of 16-bit numbers may
// be stored in 32 bits.
double tolerance(const std::vector<Placement>& reads, const std::vector<Placement>& writes,
                 const std::string& precision) {
  double largest = 0;
  for (const auto* placements : {&reads, &writes})
    for (const Placement& one : *placements)
      if (is_floating(one.type) || placements == &writes)
        largest = std::max(largest, tolerance(one.type, precision));
  return largest;
}

// Names of kernels have no spaces.
std::string joined(const std::vector<std::string>& kernels) {
  std::string text;
  for (const std::string& name : kernels) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::vector<std::string> separated(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::string question_about_kernels(const std::string& question, const Candidate& candidate) {
  return fmt::format("kernels of {}: {}", candidate.key, question);
}

// A candidate in the running.
struct Contender {
  const Candidate* candidate = nullptr;
  Prepared prepared = {};
  std::optional<Trial> trial = {};
};

class Race {
 public:
  Race(Lowering& lowering, const gpu::Stream& stream, const std::vector<Placement>& reads,
       const std::vector<Placement>& writes, std::string step)
      : lowering_(lowering),
        stream_(stream),
        reads_(reads),
        writes_(writes),
        step_(std::move(step)) {}

  void prepare(const std::vector<Candidate>& candidates) {
    // Kernels of our own are compiled.
    for (const Candidate& candidate : candidates)
      if (!candidate.is_library) prepare(candidate);
    const std::int64_t begin = steady_clock().nanoseconds();
    const std::size_t enough = contenders_.size() + kEnoughCandidates;
    for (const Candidate& candidate : candidates) {
      const bool is_long = steady_clock().nanoseconds() - begin > kLongPreparing;
      if (is_long && contenders_.size() >= enough) return;
      if (candidate.is_library) prepare(candidate);
    }
  }

  // The fastest; null if none can be run, for want of memory.
  const Contender* winner() {
    try {
      return timed();
    } catch (const Error& error) {
      if (!lowering_.device().works()) throw;
      log_line(fmt::format("  no trials: {}", error.what()));
      failure_ = error.what();
      return nullptr;
    }
  }
  const std::vector<Contender>& contenders() const { return contenders_; }
  // Why no library's candidate could be run, though there were some; empty if one could.
  std::string failure() const { return library_ran_ ? "" : failure_; }

 private:
  void prepare(const Candidate& candidate) {
    try {
      add(candidate, candidate.prepare());
    } catch (const Error& error) {
      leave_out(candidate, error.what());
    }
  }

  void add(const Candidate& candidate, Prepared prepared) {
    std::int64_t bytes = 0;
    for (const BufferId id : prepared.workspace) bytes += lowering_.buffers()[id].bytes;
    if (bytes > kMostWorkspace)
      return leave_out(candidate, fmt::format("it takes {} bytes of workspace", bytes));
    contenders_.push_back({.candidate = &candidate, .prepared = std::move(prepared)});
  }

  // After some errors, as of a kernel that read outside of memory, nothing works any more.
  void fail_if_broken(const Contender& one, const Error& error) const {
    if (!lowering_.device().works())
      fail_running("trying '{}' for step '{}': {}", one.candidate->name, step_, error.what());
  }

  void leave_out(const Candidate& candidate, const std::string& why) {
    log_line(fmt::format("  {}: {}", candidate.key, why));
    if (candidate.is_library && failure_.empty()) failure_ = why;
  }

  const Contender* timed() {
    std::vector<std::vector<BufferId>> workspaces;
    for (const Contender& one : contenders_) workspaces.push_back(one.prepared.workspace);
    const Scratch scratch(stream_, lowering_.buffers(), lowering_.kernels(), reads_, writes_,
                          workspaces);
    std::vector<float> expected;
    double best = std::numeric_limits<double>::max();
    for (Contender& one : contenders_) {
      try {
        enter(one, scratch, expected, best);
      } catch (const Error& error) {
        one.trial.reset();
        fail_if_broken(one, error);
        leave_out(*one.candidate, error.what());
      }
    }
    run_rounds();
    const Contender* winner = nullptr;
    for (const Contender& one : contenders_) {
      if (!one.trial) continue;
      log_line(fmt::format("  {}: {:.4f} ms", one.candidate->key, one.trial->median()));
      if (winner == nullptr || one.trial->median() < winner->trial->median()) winner = &one;
    }
    return winner;
  }

  // Runs it for the first time, compares what it computes and looks whether it may win.
  void enter(Contender& one, const Scratch& scratch, std::vector<float>& expected, double& best) {
    scratch.spoil_result();
    Trial trial(stream_, one.prepared.bind(scratch.addresses(one.prepared.workspace)));
    const std::vector<float> result = scratch.result();
    if (expected.empty()) expected = result;
    const double difference = relative_difference(result, expected);
    if (difference > tolerance(reads_, writes_, one.candidate->precision)) {
      return leave_out(
          *one.candidate,
          fmt::format("its result differs by {:.2g} of the largest number", difference));
    }
    library_ran_ = library_ran_ || one.candidate->is_library;
    const double ms = trial.first_look();
    if (ms > kBlurMs && ms > kHopelessAtOnce * best) {
      log_line(fmt::format("  {}: {:.4f} ms at first sight", one.candidate->key, ms));
      return;
    }
    best = std::min(best, ms);
    trial.capture();
    one.trial.emplace(std::move(trial));
  }

  void run_rounds() {
    double spent = 0;
    for (int round = 1; round <= kMostRounds; ++round) {
      double best = std::numeric_limits<double>::max();
      for (Contender& one : contenders_) {
        if (!one.trial) continue;
        const double before = one.trial->spent();
        one.trial->time();
        spent += one.trial->spent() - before;
        best = std::min(best, one.trial->median());
      }
      for (Contender& one : contenders_) {
        if (!one.trial || one.trial->median() <= kHopeless * best) continue;
        log_line(fmt::format("  {}: {:.4f} ms", one.candidate->key, one.trial->median()));
        one.trial.reset();
      }
      if (round >= kFewestRounds && spent > kEnoughMs) break;
    }
  }

  Lowering& lowering_;
  const gpu::Stream& stream_;
  const std::vector<Placement>& reads_;
  const std::vector<Placement>& writes_;
  std::string step_;  // its name
  std::vector<Contender> contenders_;
  bool library_ran_ = false;
  std::string failure_;  // of the first library's candidate that failed
};

}  // namespace

Contests::Contests(const ProgramOptions& options, const gpu::Device& device)
    : measures_(options.optimize_for == OptimizeFor::Latency),
      known_(execute::tuning_place(options), machine_of(device)) {}

const Candidate* Contests::known(const std::string& question,
                                 const std::vector<Candidate>& candidates) {
  if (candidates.size() == 1) return &candidates.front();
  if (!measures_) return &candidates[1];  // what the library proposes first
  const auto answer = known_.find(question);
  if (!answer) return nullptr;
  const auto found = std::ranges::find(candidates, *answer, &Candidate::key);
  if (found == candidates.end()) return nullptr;
  const bool is_told = !found->describe || known_.find(question_about_kernels(question, *found));
  return is_told ? &*found : nullptr;
}

void Contests::describe(const Contest& contest, const Candidate& winner, StepInfo& step) const {
  if (!winner.describe) return;
  const auto kernels = known_.find(question_about_kernels(contest.question, winner));
  winner.describe(step, separated(kernels.value_or("")));
}

void Contests::enter(Lowering& lowering, const StepDraft& draft, const std::string& question,
                     std::vector<Candidate> candidates) {
  Contest contest{.step = lowering.steps().size(),
                  .question = fmt::format("{} {}", question, hash_of(candidates)),
                  .candidates = std::move(candidates),
                  .reads = draft.reads,
                  .writes = draft.writes};
  lowering.add_step(draft, {});
  if (const Candidate* winner = known(contest.question, contest.candidates)) {
    try {
      if (winner->add_kernels) winner->add_kernels();
      return settle(lowering, contest, *winner, winner->prepare(), "");
    } catch (const Error& error) {
      log_line(fmt::format("{}: {}", winner->key, error.what()));
    }
  }
  for (const Candidate& candidate : contest.candidates)
    if (candidate.add_kernels) candidate.add_kernels();
  open_.push_back(std::move(contest));
}

void Contests::settle(Lowering& lowering, const Contest& contest, const Candidate& winner,
                      const Prepared& prepared, const std::string& fell_back) {
  PlannedStep& step = lowering.steps()[contest.step];
  step.info.algorithm = winner.name;
  describe(contest, winner, step.info);
  if (!winner.precision.empty()) step.info.precision = winner.precision;
  if (!winner.is_library) step.info.fell_back = fell_back;
  step.bind = prepared.bind;
  step.touched.insert(step.touched.end(), prepared.workspace.begin(), prepared.workspace.end());
}

void Contests::hold(Lowering& lowering, const Contest& contest) {
  const gpu::Stream stream(lowering.device());
  Race race(lowering, stream, contest.reads, contest.writes,
            lowering.steps()[contest.step].info.name);
  race.prepare(contest.candidates);
  const Contender* winner = race.winner();
  const bool was_measured = winner != nullptr;
  if (!was_measured) winner = &race.contenders().front();
  if (was_measured && winner->candidate->describe) {
    const std::vector<std::string> kernels = winner->trial->kernels();
    log_line(fmt::format("  {} launches {}", winner->candidate->key, joined(kernels)));
    known_.add(question_about_kernels(contest.question, *winner->candidate), joined(kernels));
  }
  settle(lowering, contest, *winner->candidate, winner->prepared, race.failure());
  if (was_measured) known_.add(contest.question, winner->candidate->key);
}

void Contests::decide(Lowering& lowering, Progress* progress) {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (progress != nullptr && progress->cancelled())
      throw Error(ErrorKind::Cancelled, "compiling was interrupted");
    if (progress != nullptr)
      progress->report(static_cast<double>(i) / static_cast<double>(open_.size()),
                       "choosing algorithms");
    const Contest& contest = open_[i];
    log_line(fmt::format("{}: {}", lowering.steps()[contest.step].info.name, contest.question));
    if (const Candidate* winner = known(contest.question, contest.candidates)) {
      try {
        settle(lowering, contest, *winner, winner->prepare(), "");
        continue;
      } catch (const Error& error) {
        log_line(fmt::format("  {}: {}", winner->key, error.what()));
      }
    }
    hold(lowering, contest);
  }
  open_.clear();
  known_.save();
}

}  // namespace assay::cuda
