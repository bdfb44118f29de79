// A fake program: its steps take the given times, on a clock that they advance.
#pragma once

#include <gtest/gtest.h>

#include "assay/profile.h"

namespace assay {

class FakeClock : public Clock {
 public:
  std::int64_t nanoseconds() override { return now; }
  std::int64_t now = 0;
};

class FakeProgram : public Program {
 public:
  // Every run takes `between` nanoseconds more than its steps.
  FakeProgram(FakeClock& clock, std::vector<StepInfo> steps, std::vector<std::int64_t> times,
              std::int64_t between)
      : clock_(clock), steps_(std::move(steps)), times_(std::move(times)), between_(between) {
    sums_.resize(steps_.size());
  }

  const std::string& engine() const override { return default_engine(); }
  const std::vector<Value>& inputs() const override { return none_; }
  const std::vector<Value>& outputs() const override { return none_; }
  const std::vector<Value>& state() const override { return none_; }
  const std::vector<StepInfo>& steps() const override { return steps_; }
  std::vector<ProgramBuffer> buffers() const override { return {}; }
  void set_state(std::span<const Tensor>) override {}
  std::vector<Tensor> state_values() const override { return {}; }
  ProgramMemory memory() const override { return taken; }
  int threads() const override { return 1; }
  void set_inputs(std::span<const Tensor>) override {}
  void run() override {
    ++runs;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      clock_.now += times_[i];
      if (observes_) clock_.now += observing;
      if (observes_) sums_[i] += times_[i] + observing;
      if (observes_ && listener_) listener_(i);
    }
    clock_.now += between_;
  }
  std::vector<Tensor> results() const override { return {}; }
  void on_output(std::function<void(const OutputView&)>) override {}
  void observe_steps(bool on) override { observes_ = on; }
  bool is_observed_apart() const override { return observing > 0; }
  void on_step(std::function<void(std::size_t)> listener) override { listener_ = listener; }
  void reset_step_times() override { std::fill(sums_.begin(), sums_.end(), 0); }
  std::span<const std::int64_t> step_nanoseconds() const override { return sums_; }
  std::int64_t run_nanoseconds() const override { return 0; }

  ProgramMemory taken = {};
  std::size_t runs = 0;
  std::int64_t observing = 0;  // nanoseconds that timing a step takes

 private:
  FakeClock& clock_;
  std::vector<StepInfo> steps_;
  std::vector<std::int64_t> times_;
  std::int64_t between_ = 0;
  std::vector<std::int64_t> sums_;
  std::vector<Value> none_;
  bool observes_ = false;
  std::function<void(std::size_t)> listener_;
};

}  // namespace assay
