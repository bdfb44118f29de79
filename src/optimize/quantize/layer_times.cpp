#include "optimize/quantize/layer_times.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "profile/compiled_model.h"

namespace assay::optimize {

namespace {

constexpr int kTurns = 15;
constexpr double kClearly = 1.1;  // times as long: smaller differences may be noise

// Runs a model in turns with another; keeps the shortest time of each step and of a whole run.
class TimedModel {
 public:
  TimedModel(const Graph& model, const std::vector<Tensor>& batch, const ProgramOptions& options)
      : program_(profile::compiled_for(model, batch, options)) {
    for (int i = 0; i < 3; ++i) program_->run();
    program_->observe_steps(true);
    steps_.assign(program_->steps().size(), std::numeric_limits<std::int64_t>::max());
  }

  void take_turn() {
    program_->reset_step_times();
    program_->run();
    const auto times = program_->step_nanoseconds();
    for (std::size_t i = 0; i < times.size(); ++i) steps_[i] = std::min(steps_[i], times[i]);
    run_ = std::min(run_, program_->run_nanoseconds());
  }

  std::int64_t run_nanoseconds() const { return run_; }

  // A step of several layers counts for the one it is named after.
  std::map<std::string, double> by_layer() const {
    std::map<std::string, double> times;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      times[program_->steps()[i].name] += static_cast<double>(steps_[i]);
    return times;
  }

 private:
  std::unique_ptr<Program> program_;
  std::vector<std::int64_t> steps_;
  std::int64_t run_ = std::numeric_limits<std::int64_t>::max();
};

void in_turns(TimedModel& a, TimedModel& b) {
  for (int i = 0; i < kTurns; ++i) {
    a.take_turn();
    b.take_turn();
  }
}

bool is_layer(const Node& node) {
  return node.is("Conv") || node.is("Gemm") || node.is("MatMul");
}

}  // namespace

std::vector<std::string> slower_layers(const Graph& original, const Graph& quantized,
                                       const std::vector<Tensor>& batch,
                                       const ProgramOptions& options) {
  TimedModel before(original, batch, options);
  TimedModel after(quantized, batch, options);
  in_turns(before, after);
  const auto float_times = before.by_layer();
  const auto quantized_times = after.by_layer();
  std::vector<std::string> slower;
  for (const Node& node : original.nodes()) {
    const auto a = float_times.find(node.name);
    const auto b = quantized_times.find(node.name);
    const bool are_known = a != float_times.end() && b != quantized_times.end();
    if (is_layer(node) && are_known && b->second > kClearly * a->second)
      slower.push_back(node.name);
  }
  return slower;
}

bool is_faster(const Graph& candidate, const Graph& other, const std::vector<Tensor>& batch,
               const ProgramOptions& options) {
  TimedModel a(candidate, batch, options);
  TimedModel b(other, batch, options);
  in_turns(a, b);
  return static_cast<double>(a.run_nanoseconds()) < static_cast<double>(b.run_nanoseconds()) * 0.98;
}

}  // namespace assay::optimize
