#include "execute/cuda/cuda_program.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/executable.h"
#include "execute/cuda/names.h"
#include "execute/program_base.h"

namespace assay::cuda {

namespace {

// Steps that follow each other on the GPU are captured as one graph; a step on the host is a
// stretch of its own.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;  // one past
  gpu::Owned graph = {};
  gpu::Owned timed = {};  // the same with an event before, between and after the steps
};

std::int64_t free_bytes_now() {
  gpu::device().use();
  return gpu::device().free_bytes();
}

class CudaProgram final : public execute::ProgramBase {
 public:
  CudaProgram(Inferred model, const ProgramOptions& options, Progress* progress)
      : ProgramBase(kEngine, model.graph, 0, options.keep_outputs),
        executable_(std::move(model), options, progress) {
    replace_steps(executable_.steps().size());
    find_stretches();
  }

  const std::vector<StepInfo>& steps() const override { return executable_.steps(); }
  ProgramMemory memory() const override {
    ProgramMemory memory = executable_.memory();
    memory.device_growth_bytes =
        std::max<std::int64_t>(0, free_before_ - gpu::device().free_bytes());
    return memory;
  }
  bool is_observed_apart() const override { return true; }
  std::vector<ProgramBuffer> buffers() const override { return executable_.buffers(); }

 protected:
  void take_inputs(std::span<const Tensor> given) override { executable_.set_inputs(given); }
  void take_state(std::span<const Tensor> state) override { executable_.set_state(state); }
  std::vector<Tensor> current_state() const override {
    executable_.check_indices();
    return executable_.state_values();
  }

  // The first run, which loads what the driver loads when it is first used, is not captured; it
  // waits for each step, so that an error names it.
  void run_steps() override {
    gpu::device().use();
    const bool is_first_and_timed = observes() && !has_run();
    if (has_listener() || is_first_and_timed)
      return run_each(steps().size(), [&](std::size_t i) { run_alone(i); });
    if (has_run()) return observes() ? run_timed() : run_captured();
    for (std::size_t i = 0; i < steps().size(); ++i) run_alone(i);
    executable_.check_indices();
  }

  std::vector<Tensor> last_results() const override {
    executable_.check_indices();
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < executable_.output_count(); ++i)
      results.push_back(executable_.output(i));
    return results;
  }

  // Outputs are shown together at the end: nothing writes over them before.
  void show_outputs(std::size_t done) override {
    if (done != steps().size()) return;
    executable_.check_indices();
    for (std::size_t i = 0; i < executable_.output_count(); ++i) {
      const Tensor tensor = executable_.output(i);
      show({.output = i, .type = tensor.type(), .dims = tensor.dims(), .bytes = tensor.bytes()});
    }
  }

 private:
  const gpu::Stream& stream() const { return executable_.stream(); }

  void run_alone(std::size_t step) const {
    executable_.launch_step(step);
    stream().wait(fmt::format("step '{}' ({}, {})", steps()[step].name, steps()[step].op,
                              steps()[step].algorithm));
  }

  void find_stretches() {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const bool on_host = executable_.is_on_host(i);
      const bool goes_on = i > 0 && !on_host && !executable_.is_on_host(i - 1);
      if (!goes_on) stretches_.push_back({.first = i, .last = i});
      stretches_.back().last = i + 1;
    }
  }

  template <typename Launches>
  gpu::Owned captured(const Launches& launches) const {
    stream().begin_capture();
    try {
      launches();
    } catch (...) {
      stream().give_up_capture();
      throw;
    }
    return stream().end_capture();
  }

  void run_captured() {
    for (Stretch& stretch : stretches_) {
      if (executable_.is_on_host(stretch.first)) {
        executable_.launch_step(stretch.first);
        continue;
      }
      if (!stretch.graph) {
        stretch.graph = captured([&] {
          for (std::size_t i = stretch.first; i < stretch.last; ++i) executable_.launch_step(i);
        });
      }
      stream().launch(stretch.graph);
    }
    stream().wait("running the model");
  }

  // Events are nodes of the graph, so that the host's launching of single steps is not timed.
  gpu::Owned captured_with_events(const Stretch& stretch) const {
    return captured([&] {
      stream().record_in_graph(events_[stretch.first]);
      for (std::size_t i = stretch.first; i < stretch.last; ++i) {
        executable_.launch_step(i);
        stream().record_in_graph(events_[i + 1]);
      }
    });
  }

  void add_time_on_host(std::size_t step) {
    Clock& clock = steady_clock();
    const std::int64_t start = clock.nanoseconds();
    executable_.launch_step(step);
    add_step_time(step, clock.nanoseconds() - start);
  }

  // Steps on the host are timed by the host's clock.
  void run_timed() {
    while (events_.size() < steps().size() + 1) events_.push_back(gpu::new_event(gpu::device()));
    for (Stretch& stretch : stretches_) {
      if (executable_.is_on_host(stretch.first)) {
        add_time_on_host(stretch.first);
        continue;
      }
      if (!stretch.timed) stretch.timed = captured_with_events(stretch);
      stream().launch(stretch.timed);
      stream().wait("running the model");
      for (std::size_t i = stretch.first; i < stretch.last; ++i) {
        const double ms = gpu::milliseconds_between(gpu::device(), events_[i], events_[i + 1]);
        add_step_time(i, static_cast<std::int64_t>(ms * 1e6));
      }
    }
  }

  std::int64_t free_before_ = free_bytes_now();
  Executable executable_;
  std::vector<Stretch> stretches_;
  std::vector<gpu::Owned> events_;
};

}  // namespace

std::unique_ptr<Program> compile_cuda(Inferred model, const ProgramOptions& options,
                                      Progress* progress) {
  return std::make_unique<CudaProgram>(std::move(model), options, progress);
}

}  // namespace assay::cuda
