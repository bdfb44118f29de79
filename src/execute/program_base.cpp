#include "execute/program_base.h"

#include <algorithm>

#include "base/fail.h"
#include "execute/inputs.h"

namespace assay::execute {

ProgramBase::ProgramBase(std::string engine, const Graph& graph, int threads, bool keeps_outputs)
    : engine_(std::move(engine)), threads_(threads), keeps_outputs_(keeps_outputs) {
  check_is_runnable(graph);
  inputs_ = values_of(graph, given_inputs(graph));
  outputs_ = values_of(graph, taken_outputs(graph));
  state_ = values_of(graph, state_inputs(graph));
}

void ProgramBase::set_inputs(std::span<const Tensor> given) {
  check_inputs(inputs_, given);
  take_inputs(given);
  has_inputs_ = true;
}

void ProgramBase::set_state(std::span<const Tensor> state) {
  check_inputs(state_, state, "state");
  take_state(state);
  has_state_ = true;
}

std::vector<Tensor> ProgramBase::state_values() const {
  if (!has_state_ && !state_.empty()) fail_usage("set the state before asking for it");
  return current_state();
}

void ProgramBase::run() {
  if (!has_inputs_ && !inputs_.empty()) fail_usage("set the inputs before running the program");
  if (!has_state_ && !state_.empty()) fail_usage("set the state before running the program");
  if (observes_) {
    Clock& clock = steady_clock();
    const std::int64_t begin = clock.nanoseconds();
    run_steps();
    run_nanoseconds_ += clock.nanoseconds() - begin;
  } else {
    run_steps();
  }
  has_run_ = true;
}

std::vector<Tensor> ProgramBase::results() const {
  if (!keeps_outputs_)
    fail_usage("this program was compiled to show its outputs while it runs, and keeps none");
  if (!has_run_) fail_usage("run the program before asking for its results");
  return last_results();
}

void ProgramBase::reset_step_times() {
  std::ranges::fill(step_nanoseconds_, 0);
  run_nanoseconds_ = 0;
}

void ProgramBase::replace_steps(std::size_t count) {
  step_nanoseconds_.assign(count, 0);
  run_nanoseconds_ = 0;
  has_run_ = false;
}

}  // namespace assay::execute
