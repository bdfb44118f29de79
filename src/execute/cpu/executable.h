// A graph made ready to run on the processor: simplified, lowered to steps, its buffers packed into
// one arena.
#pragma once

#include "assay/program.h"
#include "base/function_ref.h"
#include "base/memory_block.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

class Executable {
 public:
  // Runs on a team of threads that the caller keeps.
  Executable(Inferred model, const LoweringOptions& options, Progress* progress);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const std::vector<StepInfo>& steps() const { return infos_; }
  const ProgramMemory& memory() const { return memory_; }
  const std::vector<ProgramBuffer>& buffers() const { return buffers_; }
  const std::vector<Runner>& runners() const { return runners_; }  // one a step

  // All of the types and shapes that the graph tells.
  void set_inputs(std::span<const Tensor> given);
  void set_state(std::span<const Tensor> state);
  std::vector<Tensor> state_values() const;
  std::vector<Tensor> results() const;
  // Where an input is taken from, and where an output lies after a run, row by row: for who runs a
  // body again and again. Neither may be dynamic.
  std::byte* input_address(std::size_t i) const { return inputs_[i].address; }
  const std::byte* output_address(std::size_t i) const;
  bool is_dynamic() const;  // one of them is
  // Shows the outputs that are complete since so many steps have run.
  void show_outputs(std::size_t steps, FunctionRef<void(const OutputView&)> show) const;

 private:
  struct Input {
    ValueId id;
    std::optional<Placement> placement;  // none: a dynamic value
    std::byte* address = nullptr;
  };
  struct State {
    Placement placement;
    std::byte* address = nullptr;
  };
  struct Output {
    ValueId id;
    std::optional<Placement> placement;  // none: a constant or a dynamic value
    const Tensor* constant = nullptr;
    std::byte* address = nullptr;
    std::size_t complete_after = 0;  // steps
    OutputView view = {};            // unless it is dynamic
  };

  void lower(const LoweringOptions& options, Progress* progress);
  void find_inputs_and_outputs(Lowering& lowering);
  const Tensor& dynamic_output(const Output& output) const;
  std::vector<std::byte*> plan_arena(Lowering& lowering);
  void bind(Lowering& lowering, std::vector<std::byte*> addresses);

  const Graph& graph() const { return rewritten_.model.graph; }

  transform::Rewritten rewritten_;
  std::vector<ProgramBuffer> buffers_;
  std::vector<StepInfo> infos_;
  ProgramMemory memory_;
  WeightPool weights_;
  bool keeps_outputs_ = true;
  MemoryBlock arena_;
  std::vector<Runner> runners_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<State> state_;
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic_;
};

}  // namespace assay::cpu
