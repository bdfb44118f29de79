#include "execute/cpu/precision_choice.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <limits>

#include "assay/timing.h"
#include "base/free_memory.h"
#include "base/sha256.h"
#include "execute/cpu/onednn/sgemm.h"
#include "execute/cpu/onednn/tuning_file.h"
#include "execute/inputs.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

using transform::holds_halves;
using transform::is_half;

namespace {

using Stored = transform::PrecisionPlan::Stored;

constexpr int kRounds = 9;
constexpr int kFewestRounds = 3;
constexpr std::int64_t kShortestRound = 1'000'000;   // nanoseconds
constexpr std::int64_t kEnoughRounds = 400'000'000;  // nanoseconds of all of them
// Smaller weights are worth a difference that cannot be measured.
constexpr double kSameSpeed = 1.005;
// Float32 arithmetic does not come to so many times the rate of a product of matrices, even where
// Winograd saves most of it.
constexpr double kBeyondFloat32 = 3;

// One executable, timed.
class Contestant {
 public:
  Contestant(Executable& executable, std::span<const Tensor> inputs) : executable_(executable) {
    executable_.set_inputs(inputs);
    run();
    runs_ =
        std::clamp<std::int64_t>(kShortestRound / std::max<std::int64_t>(time_of(1), 1), 1, 500);
  }

  void measure() { best_ = std::min(best_, time_of(runs_)); }
  std::int64_t best() const { return best_; }  // nanoseconds a run

 private:
  void run() const {
    for (const Runner& runner : executable_.runners()) runner();
  }
  std::int64_t time_of(std::int64_t runs) const {
    Clock& clock = steady_clock();
    const std::int64_t begin = clock.nanoseconds();
    for (std::int64_t i = 0; i < runs; ++i) run();
    return (clock.nanoseconds() - begin) / runs;
  }

  Executable& executable_;
  std::int64_t runs_ = 1;
  std::int64_t best_ = std::numeric_limits<std::int64_t>::max();
};

// In turns: how many times longer the first takes than the second.
double relative_time(Executable& first, Executable& second, std::span<const Tensor> inputs) {
  std::array contestants = {Contestant(first, inputs), Contestant(second, inputs)};
  const std::int64_t begin = steady_clock().nanoseconds();
  for (int round = 0; round < kRounds; ++round) {
    for (Contestant& one : contestants) one.measure();
    const bool is_long = steady_clock().nanoseconds() - begin > kEnoughRounds;
    if (is_long && round + 1 >= kFewestRounds) break;
  }
  return static_cast<double>(contestants[0].best()) / static_cast<double>(contestants[1].best());
}

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
  Contestant alone(executable, inputs);
  for (int i = 0; i < kFewestRounds; ++i) alone.measure();
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

std::string question_about(const Inferred& model, const LoweringOptions& options) {
  std::string text;
  for (const Node& node : model.graph.nodes()) {
    text += node.op;
    for (const ValueId output : node.outputs) {
      if (output.is_valid()) text += ' ' + model.graph.value(output).type.to_string();
    }
    text += '\n';
  }
  const std::string digest = sha256_of({std::as_bytes(std::span(text))});
  const DataType type = options.program.precision.value_or(DataType::Undefined);
  return fmt::format("{} threads: what is stored as {} in model {}", options.threads, name(type),
                     digest);
}

std::optional<Stored> known_answer(const TuningFile& file, const std::string& question) {
  const auto answer = file.find(question);
  if (!answer) return {};
  const auto found = std::ranges::find(kStoredNames, *answer, &StoredName::name);
  return found == kStoredNames.end() ? std::nullopt : std::optional(found->stored);
}

void remember(const LoweringOptions& options, const std::string& question) {
  TuningFile file(tuning_place(options.program));  // with what compiling has added
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
    return relative_time(in_halves, in_floats, inputs_) <= kSameSpeed;
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
  const std::string question = question_about(model, options);
  if (const auto answer = known_answer(TuningFile(tuning_place(options.program)), question)) {
    options.stored = *answer;
    return compiled();
  }
  if (omp_get_max_threads() != options.threads) omp_set_num_threads(options.threads);
  PrecisionChoice choice(model, options, progress);
  auto chosen = choice.run();
  options.stored = choice.stored();
  remember(options, question);
  return chosen;
}

}  // namespace assay::cpu
