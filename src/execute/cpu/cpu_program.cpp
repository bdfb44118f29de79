#include "execute/cpu/cpu_program.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "execute/cpu/executable.h"
#include "execute/cpu/names.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/precision_choice.h"
#include "execute/cpu/tensor_floats.h"
#include "execute/cpu/thread_choice.h"
#include "execute/program_base.h"
#include "execute/threads.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

namespace {

// All bits of the exponent are set.
bool holds_non_finite_halves(const Tensor& tensor) {
  const std::uint16_t exponent = tensor.type() == DataType::Float16 ? 0x7c00 : 0x7f80;
  const auto bytes = tensor.bytes();
  for (std::size_t i = 0; i + 2 <= bytes.size(); i += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof(bits));
    if ((bits & exponent) == exponent) return true;
  }
  return false;
}

bool holds_non_finite(const Tensor& tensor) {
  if (transform::is_half(tensor.type())) return holds_non_finite_halves(tensor);
  if (tensor.type() != DataType::Float32) return false;
  bool found = false;
  with_floats(tensor, [&](const float* values) {
    const auto count = tensor.byte_size() / sizeof(float);
    found = !std::all_of(values, values + count, [](float value) { return std::isfinite(value); });
  });
  return found;
}

// Fused activations and Winograd do not let NaN and infinity flow as the plain kernels do. Inputs
// that hold any run in a second executable that keeps to algorithms which do; it is made when the
// first such input comes. State cannot move from one to the other: a graph that has any keeps to
// the first.
class CpuProgram final : public execute::ProgramBase {
 public:
  CpuProgram(Inferred model, const ProgramOptions& options, Progress* progress)
      : ProgramBase(kEngine, model.graph, chosen_threads(model, options, progress),
                    options.keep_outputs),
        team_(threads(), options.cpu.pin_threads),
        options_{.program = options, .threads = threads()} {
    if (model.graph.carried().empty()) model_ = model;
    usual_ = compiled_in_best_precision(std::move(model), options_, progress);
    use(*usual_);
  }

  const std::vector<StepInfo>& steps() const override { return current_->steps(); }
  ProgramMemory memory() const override { return current_->memory(); }
  std::vector<ProgramBuffer> buffers() const override { return current_->buffers(); }

 protected:
  void take_inputs(std::span<const Tensor> given) override {
    const bool needs_strict = model_ && std::ranges::any_of(given, holds_non_finite);
    Executable& wanted = needs_strict ? strict() : *usual_;
    if (&wanted != current_) use(wanted);
    current_->set_inputs(given);
  }
  void take_state(std::span<const Tensor> state) override { current_->set_state(state); }
  std::vector<Tensor> current_state() const override { return current_->state_values(); }
  void run_steps() override {
    if (omp_get_max_threads() != threads()) omp_set_num_threads(threads());
    const std::vector<Runner>& runners = current_->runners();
    run_each(runners.size(), [&](std::size_t i) { runners[i](); });
  }
  std::vector<Tensor> last_results() const override { return current_->results(); }
  void show_outputs(std::size_t steps) override {
    current_->show_outputs(steps, [&](const OutputView& view) { show(view); });
  }

 private:
  void use(Executable& executable) {
    current_ = &executable;
    replace_steps(executable.steps().size());
  }

  Executable& strict() {
    if (strict_ == nullptr) {
      LoweringOptions options = options_;
      options.ieee_strict = true;
      strict_ = std::make_unique<Executable>(*model_, options, nullptr);
    }
    return *strict_;
  }

  execute::TeamScope team_;
  LoweringOptions options_;
  std::optional<Inferred> model_;  // shares its weights with whatever it came from
  std::unique_ptr<Executable> usual_;
  std::unique_ptr<Executable> strict_;
  Executable* current_ = nullptr;
};

}  // namespace

std::unique_ptr<Program> compile_cpu(Inferred model, const ProgramOptions& options,
                                     Progress* progress) {
  forbid_unsafe_instructions();
  return std::make_unique<CpuProgram>(std::move(model), options, progress);
}

}  // namespace assay::cpu
