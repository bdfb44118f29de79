// A graph made ready to run on the GPU: simplified, lowered to steps, weights copied there, buffers
// packed into one arena.
#pragma once

#include "assay/program.h"
#include "base/function_ref.h"
#include "execute/arena_plan.h"
#include "execute/cuda/lowering.h"

namespace assay::cuda {

class Executable {
 public:
  Executable(Inferred model, const ProgramOptions& options, Progress* progress);

  const std::vector<StepInfo>& steps() const { return infos_; }
  const ProgramMemory& memory() const { return memory_; }
  const std::vector<ProgramBuffer>& buffers() const { return buffers_; }
  const gpu::Stream& stream() const { return stream_; }

  void launch_step(std::size_t step) const { runners_[step](stream_); }
  bool is_on_host(std::size_t step) const { return on_host_[step]; }

  // All of the types and shapes that the graph tells.
  void set_inputs(std::span<const Tensor> given);
  void set_state(std::span<const Tensor> state);
  std::vector<Tensor> state_values() const;
  Tensor output(std::size_t i) const;
  // Throws if an index of the last run was outside of what it selects from.
  void check_indices() const;
  std::size_t output_count() const { return outputs_.size(); }

 private:
  // A value that callers give or take: on the GPU, on the host, or a constant.
  struct Port {
    ValueId id;
    std::optional<Placement> placement;
    const Tensor* constant = nullptr;
    gpu::DevicePointer address = 0;
    DataType declared = DataType::Undefined;  // of state
  };

  void lower(const ProgramOptions& options, Progress* progress);
  Port port_of(Lowering& lowering, ValueId id) const;
  execute::ArenaPlan planned_arena(Lowering& lowering) const;
  void check_memory(Lowering& lowering) const;
  Addresses place_arena(Lowering& lowering);
  void bind(Lowering& lowering, const Addresses& addresses);
  void copy_in(const Port& port, const Tensor& tensor);
  Tensor copied_out(const Port& port) const;

  const Graph& graph() const { return rewritten_.model.graph; }

  const gpu::Device& device_;
  gpu::Stream stream_;
  std::vector<DataType> state_types_;  // as the model declares them
  transform::Rewritten rewritten_;
  Kernels kernels_;
  std::vector<gpu::Memory> weights_;
  gpu::Memory arena_;
  std::vector<ProgramBuffer> buffers_;
  std::vector<StepInfo> infos_;
  std::vector<Runner> runners_;
  std::vector<bool> on_host_;
  ProgramMemory memory_;
  std::vector<Port> inputs_;
  std::vector<Port> state_;
  std::vector<Port> outputs_;
  gpu::DevicePointer wrong_index_ = 0;  // of three integers; 0: no step has indices
  std::shared_ptr<std::vector<reference::RuntimeValue>> host_values_;
};

}  // namespace assay::cuda
