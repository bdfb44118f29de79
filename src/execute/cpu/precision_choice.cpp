#include "execute/cpu/precision_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "assay/timing.h"
#include "base/free_memory.h"
#include "execute/cpu/contest.h"
#include "execute/cpu/onednn/sgemm.h"
#include "execute/cpu/onednn/tuned_machine.h"
#include "execute/cpu/question.h"
#include "execute/inputs.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

using transform::holds_halves;
using transform::is_half;

namespace {

using Stored = transform::PrecisionPlan::Stored;

constexpr int kRoundsAlone = 3;
// Smaller weights are worth a difference that cannot be measured.
constexpr double kSameSpeed = 1.005;
// Float32 arithmetic does not come to so many times the rate of a product of matrices, even where
// Winograd saves most of it.
constexpr double kBeyondFloat32 = 3;

// FLOPs a nanosecond of one thread.
double float32_rate() {
  constexpr std::int64_t kSize = 384;
  const std::vector<float> matrix(kSize * kSize, 0.5f);
  std::vector<float> result(matrix.size());
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 4; ++i) {
    const std::int64_t begin = steady_clock().nanoseconds();
    sgemm({kSize, kSize, kSize}, {matrix.data(), kSize}, {matrix.data(), kSize}, result.data(),
          kSize);
    best = std::min(best, steady_clock().nanoseconds() - begin);
  }
  return 2.0 * kSize * kSize * kSize / static_cast<double>(std::max<std::int64_t>(best, 1));
}

bool is_beyond_float32(Executable& executable, std::span<const Tensor> inputs, int threads) {
  static const double kRate = float32_rate();
  Contestant alone(executable, inputs, threads);
  for (int i = 0; i < kRoundsAlone; ++i) alone.measure();
  double flops = 0;
  for (const StepInfo& step : executable.steps()) flops += static_cast<double>(step.executed_flops);
  return flops / static_cast<double>(alone.best()) > kBeyondFloat32 * kRate * threads;
}

bool may_choose(const Inferred& model, const ProgramOptions& options) {
  const bool is_asked = options.precision && is_half(*options.precision);
  if (!options.only_where_faster || options.optimize_for != OptimizeFor::Latency) return false;
  if (!is_asked && !holds_halves(model.graph)) return false;
  if (!model.graph.carried().empty()) return false;
  // Two forms of the model and what choosing their algorithms takes.
  const std::int64_t wide = execute::stored_bytes(model.graph, DataType::Float32);
  return free_memory_bytes().value_or(0) / 4 > wide;
}

// --- answers in the tuning file

struct StoredName {
  Stored stored;
  std::string_view name;
};
constexpr std::array kStoredNames = {StoredName{Stored::Everything, "everything"},
                                     StoredName{Stored::Weights, "weights"},
                                     StoredName{Stored::Nothing, "nothing"}};

std::optional<Stored> known_answer(const execute::TuningFile& file, const std::string& question) {
  const auto answer = file.find(question);
  if (!answer) return {};
  const auto found = std::ranges::find(kStoredNames, *answer, &StoredName::name);
  return found == kStoredNames.end() ? std::nullopt : std::optional(found->stored);
}

void remember(const LoweringOptions& options, const std::string& question) {
  execute::TuningFile file = tuning_file_of(options.program);  // with what compiling has added
  const auto found = std::ranges::find(kStoredNames, options.stored, &StoredName::stored);
  file.add(question, std::string(found->name));
  file.save();
}

// --- the choice

class PrecisionChoice {
 public:
  PrecisionChoice(const Inferred& model, const LoweringOptions& options, Progress* progress)
      : model_(model),
        options_(options),
        progress_(progress),
        inputs_(
            random_inputs(execute::values_of(model.graph, execute::given_inputs(model.graph)))) {}

  std::unique_ptr<Executable> run() {
    auto everything = compiled(Stored::Everything);
    if (is_beyond_float32(*everything, inputs_, options_.threads))
      return chosen(std::move(everything), Stored::Everything);
    auto nothing = compiled(Stored::Nothing);
    if (is_worth_it(*everything, *nothing))
      return chosen(std::move(everything), Stored::Everything);
    everything.reset();
    auto weights = compiled(Stored::Weights);
    if (is_worth_it(*weights, *nothing)) return chosen(std::move(weights), Stored::Weights);
    return chosen(std::move(nothing), Stored::Nothing);
  }
  Stored stored() const { return stored_; }

 private:
  std::unique_ptr<Executable> compiled(Stored stored) {
    options_.stored = stored;
    return std::make_unique<Executable>(model_, options_, progress_);
  }
  std::unique_ptr<Executable> chosen(std::unique_ptr<Executable> executable, Stored stored) {
    stored_ = stored;
    return executable;
  }
  bool is_worth_it(Executable& in_halves, Executable& in_floats) {
    const auto contestant = [&](Executable& executable) {
      return Contestant(executable, inputs_, options_.threads);
    };
    return relative_time(contestant(in_halves), contestant(in_floats)) <= kSameSpeed;
  }

  const Inferred& model_;
  LoweringOptions options_;
  Progress* progress_;
  std::vector<Tensor> inputs_;
  Stored stored_ = Stored::Everything;  // by what was chosen
};

}  // namespace

std::unique_ptr<Executable> compiled_in_best_precision(Inferred model, LoweringOptions& options,
                                                       Progress* progress) {
  const auto compiled = [&] {
    return std::make_unique<Executable>(std::move(model), options, progress);
  };
  if (!may_choose(model, options.program)) return compiled();
  const std::string question = fmt::format("{} threads: what is stored as {}", options.threads,
                                           question_about(model, options.program.precision));
  if (const auto answer = known_answer(tuning_file_of(options.program), question)) {
    options.stored = *answer;
    return compiled();
  }
  PrecisionChoice choice(model, options, progress);
  auto chosen = choice.run();
  options.stored = choice.stored();
  remember(options, question);
  return chosen;
}

}  // namespace assay::cpu
