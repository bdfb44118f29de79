// What programs of all engines do alike: they check what they are given and when they are asked,
// and time their steps.
#pragma once

#include "assay/program.h"
#include "assay/timing.h"

namespace assay::execute {

class ProgramBase : public Program {
 public:
  const std::string& engine() const final { return engine_; }
  const std::vector<Value>& inputs() const final { return inputs_; }
  const std::vector<Value>& outputs() const final { return outputs_; }
  const std::vector<Value>& state() const final { return state_; }
  int threads() const final { return threads_; }

  void set_inputs(std::span<const Tensor> given) final;
  void set_state(std::span<const Tensor> state) final;
  std::vector<Tensor> state_values() const final;
  void run() final;
  std::vector<Tensor> results() const final;
  void on_output(std::function<void(const OutputView&)> listener) final {
    output_listener_ = std::move(listener);
  }

  void observe_steps(bool on) final { observes_ = on; }
  void on_step(std::function<void(std::size_t)> listener) final { listener_ = std::move(listener); }
  void reset_step_times() final;
  std::span<const std::int64_t> step_nanoseconds() const final { return step_nanoseconds_; }
  std::int64_t run_nanoseconds() const final { return run_nanoseconds_; }

 protected:
  // Refuses a graph that no program could run.
  ProgramBase(std::string engine, const Graph& graph, int threads, bool keeps_outputs);

  // What an engine does; all that is given has been checked.
  virtual void take_inputs(std::span<const Tensor> given) = 0;
  virtual void take_state(std::span<const Tensor> state) = 0;
  virtual std::vector<Tensor> current_state() const = 0;
  virtual void run_steps() = 0;  // calls `run_each`
  virtual std::vector<Tensor> last_results() const = 0;
  // Calls `show` for every output that is complete since `steps` steps have run.
  virtual void show_outputs(std::size_t steps) = 0;
  void show(const OutputView& view) { output_listener_(view); }

  bool has_run() const { return has_run_; }
  bool observes() const { return observes_; }
  // Somebody looks on between the steps.
  bool has_listener() const { return listener_ || output_listener_; }
  // For engines whose steps are timed by a clock of their own.
  void add_step_time(std::size_t step, std::int64_t nanoseconds) {
    step_nanoseconds_[step] += nanoseconds;
  }
  // To be called when `steps()` has become another list, none of which has run.
  void replace_steps(std::size_t count);

  // Calls `run_step(i)` for each of `count` steps, and times them if somebody wants to know.
  template <typename RunStep>
  void run_each(std::size_t count, const RunStep& run_step) {
    if (output_listener_) show_outputs(0);
    if (observes_) return run_each_observed(count, run_step);
    for (std::size_t i = 0; i < count; ++i) {
      run_step(i);
      if (output_listener_) show_outputs(i + 1);
    }
  }

 private:
  // One reading of the clock a step: a step begins when the one before it has ended.
  template <typename RunStep>
  void run_each_observed(std::size_t count, const RunStep& run_step) {
    Clock& clock = steady_clock();
    std::int64_t start = clock.nanoseconds();
    for (std::size_t i = 0; i < count; ++i) {
      run_step(i);
      const std::int64_t end = clock.nanoseconds();
      step_nanoseconds_[i] += end - start;
      start = end;
      if (!listener_ && !output_listener_) continue;
      if (listener_) listener_(i);
      if (output_listener_) show_outputs(i + 1);
      start = clock.nanoseconds();
    }
  }

  std::string engine_;
  int threads_ = 1;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<Value> state_;
  bool keeps_outputs_ = true;
  bool has_inputs_ = false;
  bool has_state_ = false;
  bool has_run_ = false;
  bool observes_ = false;
  std::function<void(std::size_t)> listener_;
  std::function<void(const OutputView&)> output_listener_;
  std::vector<std::int64_t> step_nanoseconds_;
  std::int64_t run_nanoseconds_ = 0;
};

}  // namespace assay::execute
