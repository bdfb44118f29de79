#include "execute/cpu/thread_choice.h"

#include <fmt/core.h>

#include <charconv>

#include "base/free_memory.h"
#include "execute/cpu/contest.h"
#include "execute/cpu/onednn/tuned_machine.h"
#include "execute/cpu/question.h"
#include "execute/inputs.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// A thread that has so much to do in a run is worth waiting for.
constexpr std::int64_t kWorthWaitingFor = 500'000;  // nanoseconds
constexpr std::int64_t kMostStoredBytes = 64 << 20;
constexpr double kClearlyFaster = 0.95;

bool may_be_small(const Inferred& model) {
  const std::int64_t stored = execute::stored_bytes(model.graph);
  return stored <= kMostStoredBytes && free_memory_bytes().value_or(0) / 8 > stored;
}

std::vector<Tensor> zeros_like(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    tensor = Tensor(tensor.type(), tensor.dims(),
                    heap_storage(std::vector<std::byte>(tensor.byte_size())));
  }
  return tensors;
}

class ThreadChoice {
 public:
  ThreadChoice(const Inferred& model, const ProgramOptions& options)
      : model_(model),
        options_(options),
        inputs_(random_values(execute::given_inputs(model.graph))),
        state_(zeros_like(random_values(execute::state_inputs(model.graph)))) {}

  int run(int most) {
    int threads = most;
    auto best = compiled(most);
    if (run_nanoseconds(*best, most) > kWorthWaitingFor * most) return most;
    while (threads > 1) {
      const int fewer = threads / 2;
      auto other = compiled(fewer);
      const double ratio =
          relative_time(Contestant(*other, inputs_, fewer), Contestant(*best, inputs_, threads));
      if (ratio > kClearlyFaster) break;
      threads = fewer;
      best = std::move(other);
    }
    return threads;
  }

 private:
  std::unique_ptr<Executable> compiled(int threads) const {
    auto executable = std::make_unique<Executable>(
        model_, LoweringOptions{.program = options_, .threads = threads}, nullptr);
    executable->set_state(state_);
    return executable;
  }
  std::vector<Tensor> random_values(const std::vector<ValueId>& ids) const {
    return random_inputs(execute::values_of(model_.graph, ids));
  }
  std::int64_t run_nanoseconds(Executable& executable, int threads) const {
    Contestant alone(executable, inputs_, threads);
    alone.measure();
    return alone.best();
  }

  const Inferred& model_;
  const ProgramOptions& options_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> state_;
};

std::optional<int> known_answer(const execute::TuningFile& file, const std::string& question,
                                int most) {
  const auto answer = file.find(question);
  if (!answer) return {};
  int threads = 0;
  std::from_chars(answer->data(), answer->data() + answer->size(), threads);
  return threads >= 1 && threads <= most ? std::optional(threads) : std::nullopt;
}

}  // namespace

int chosen_threads(const Inferred& model, const ProgramOptions& options) {
  const int most = execute::thread_count(options.cpu.threads);
  const bool is_open = options.cpu.threads == 0 && options.cpu.fewer_where_faster;
  if (!is_open || most == 1 || !may_be_small(model)) return most;
  const std::string question =
      fmt::format("threads of {} for {}", most, question_about(model, options.precision));
  if (const auto answer = known_answer(tuning_file_of(options), question, most)) return *answer;
  const execute::TeamScope team(most, options.cpu.pin_threads);
  const int threads = ThreadChoice(model, options).run(most);
  execute::TuningFile file = tuning_file_of(options);  // with what compiling has added
  file.add(question, std::to_string(threads));
  file.save();
  return threads;
}

}  // namespace assay::cpu
