// Turns a graph into steps for the GPU: walks the nodes in order, lets each op's lowering function
// choose layouts and neighbours to fuse, and records where each value lives.
//
// Texts of kernels are collected and compiled together afterwards; a step names the buffers it
// touches, and gets their addresses once the arena is planned.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/buffers.h"
#include "execute/cuda/contest.h"
#include "execute/cuda/kernels.h"
#include "execute/cuda/library_handles.h"
#include "execute/cuda/placement.h"
#include "execute/cuda/step.h"
#include "execute/cuda/weights.h"
#include "execute/reference/runtime_value.h"
#include "execute/value_facts.h"
#include "transform/edit.h"

namespace assay::cuda {

class Lowering {
 public:
  Lowering(const transform::Rewritten& source, const ProgramOptions& options,
           const gpu::Device& device);
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  void run(Progress* progress);
  // Compiles kernels and chooses algorithms, which takes a while.
  void finish(Progress* progress);

  const gpu::Device& device() const { return device_; }
  const ProgramOptions& options() const { return options_; }
  const Graph& graph() const { return source_.model.graph; }
  const Node& node(NodeId id) const { return graph().node(id); }
  Kernels& kernels() { return kernels_; }

  // What is known of values beforehand: value_facts.h.
  const Tensor* constant(ValueId id) const { return facts_.constant(id); }
  std::optional<double> number(ValueId id) const { return facts_.number(id); }
  DataType type(ValueId id) const { return facts_.type(id); }
  Dims dims(ValueId id) const { return facts_.dims(id); }
  bool is_dynamic(ValueId id) const { return facts_.is_dynamic(id); }
  const std::vector<NodeId>& readers(ValueId id) const { return facts_.readers(id); }
  NodeId only_reader(ValueId id) const { return facts_.only_reader(id); }
  bool is_read(ValueId id) const { return facts_.is_read(id); }
  bool is_visible(ValueId id) const { return facts_.is_visible(id); }
  // A tensor of known shape whose elements kernels can read.
  bool is_on_device(ValueId id) const;
  // The integers of an attribute or, since some opset, of a constant input; nothing if they are
  // known only at run time.
  std::optional<Dims> integers(const Node& node, const char* attribute, std::size_t input) const;

  // Whether a step may write over this value: state that nothing but `reader` still reads, not even
  // through a view.
  bool may_replace(ValueId id, NodeId reader) const;

  // How far lowering has come.
  bool is_available(ValueId id) const;  // a constant, or computed by a step so far
  bool is_covered(NodeId id) const { return covered_[id.number]; }
  void cover(NodeId id) { covered_[id.number] = true; }

  // Where values live. A change of layout is a step of its own, added once.
  Placement native(ValueId id);  // as it was left, any strides
  Placement dense(ValueId id);   // without gaps, in some order
  Placement row_major(ValueId id);
  Placement channels_last(ValueId id);
  // The same, but where that takes a copy, with zeros up to so many channels.
  Placement padded_channels_last(ValueId id, std::int64_t channels);
  // Lowers ahead of their turn the nodes that compute this value.
  void compute_first(ValueId id);
  bool has_placement(ValueId id) const { return placements_[id.number].native.has_value(); }
  // A weight in a form that only the engine knows, made once.
  Placement weight(const Tensor& tensor);
  // A matrix of which each column lies side by side.
  Placement weight_by_columns(const Tensor& tensor) { return weights_.stored_by_columns(tensor); }
  // Channels last; a stored tensor is laid out so once, when it is copied to the GPU.
  Placement weight_channels_last(ValueId id);
  // A stored one with so many channels, the last of which are zeros.
  Placement padded_weight(const Tensor& tensor, std::int64_t channels) {
    return weights_.stored_channels_last(tensor, channels);
  }

  BufferId new_buffer(std::int64_t bytes) { return buffers_.add(bytes); }
  Placement in_new_buffer(Placement placement);
  Placement new_row_major(ValueId id);  // a fresh buffer for a value of known shape
  Placement new_channels_last(ValueId id);
  void set_placement(ValueId id, Placement placement);

  void add_step(const StepDraft& draft, Binder bind);
  // One kernel: its arguments are what the draft reads, then what it writes, then workspaces.
  void add_kernel_step(StepDraft draft, KernelId kernel, const gpu::Launch& shape);
  void add_copy(ValueId value, const Placement& from, const Placement& to);
  // A step that the fastest of these computes; the first is a kernel of our own.
  void add_contest(const StepDraft& draft, const std::string& question,
                   std::vector<Candidate> candidates);
  LibraryHandles& libraries() { return libraries_; }

  // Values that live on the host, by id; shared with the steps.
  const std::shared_ptr<std::vector<reference::RuntimeValue>>& host_values() const {
    return host_values_;
  }

  bool is_on_host(ValueId id) const { return is_on_host_[id.number]; }
  void set_on_host(ValueId id) { is_on_host_[id.number] = true; }

  // What a step of the forward pass keeps for one of the backward pass: a name, and the number of
  // the value or node that both know.
  void keep(const std::string& name, std::uint32_t number, std::vector<Placement> placements) {
    kept_[{name, number}] = std::move(placements);
  }
  const std::vector<Placement>* kept(const std::string& name, std::uint32_t number) const {
    const auto found = kept_.find({name, number});
    return found == kept_.end() ? nullptr : &found->second;
  }

  // Where kernels say which node had which index outside of what length: node + 1, or 0, index and
  // length.
  Placement wrong_index();
  bool is_wrong_index(BufferId id) const {
    return wrong_index_ && id.is_valid() && wrong_index_->buffer == id;
  }
  const std::optional<Placement>& placed_wrong_index() const { return wrong_index_; }

  // Updates of parameters that one kernel will compute together.
  std::vector<NodeId>& waiting_updates() { return waiting_updates_; }

  std::vector<PlannedStep>& steps() { return steps_; }
  const execute::Buffers& buffers() const { return buffers_; }
  Weights& weights() { return weights_; }

 private:
  struct ValuePlacements {
    std::optional<Placement> native;
    std::vector<Placement> others;
  };

  std::vector<Placement> without_wrong_index(std::vector<Placement> reads) const;
  void place_inputs();
  void hand_state_on();
  bool is_done_with(ValueId id, BufferId buffer, NodeId except) const;
  void lower(NodeId id);
  Placement copied_to(ValueId id, Placement to);
  const Placement* find_placement(ValueId id, bool (Placement::*fits)() const);
  std::vector<NodeId> origins_of(const std::vector<NodeId>& nodes) const;
  std::int64_t weight_bytes(const std::vector<Placement>& reads) const;

  const transform::Rewritten& source_;
  ProgramOptions options_;
  const gpu::Device& device_;
  execute::ValueFacts facts_;
  execute::Buffers buffers_;
  Weights weights_;
  Kernels kernels_;
  LibraryHandles libraries_;
  Contests contests_;
  std::vector<ValuePlacements> placements_;  // by value
  std::vector<bool> covered_;                // by node
  std::vector<bool> is_on_host_;             // by value: a step left it there
  std::vector<PlannedStep> steps_;
  std::shared_ptr<std::vector<reference::RuntimeValue>> host_values_;
  std::map<std::pair<std::string, std::uint32_t>, std::vector<Placement>> kept_;
  std::vector<NodeId> waiting_updates_;
  std::optional<Placement> wrong_index_;
};

// Lowers one node, perhaps together with others; false: not in this form, run it on the host.
using LowerFunction = bool (*)(Lowering&, NodeId);
using LowerTable = std::map<std::string, LowerFunction>;
void add_elementwise_lowering(LowerTable& table);
void add_view_lowering(LowerTable& table);
void add_movement_lowering(LowerTable& table);
void add_product_lowering(LowerTable& table);
void add_convolution_lowering(LowerTable& table);
void add_pooling_lowering(LowerTable& table);
void add_row_lowering(LowerTable& table);
void add_recurrent_lowering(LowerTable& table);
void add_convolution_gradient_lowering(LowerTable& table);
void add_gradient_lowering(LowerTable& table);
void add_loss_lowering(LowerTable& table);
void add_optimizer_lowering(LowerTable& table);
void add_cached_attention_lowering(LowerTable& table);
void add_weight_only_lowering(LowerTable& table);
void add_norm_lowering(LowerTable& table);
void add_batch_norm_lowering(LowerTable& table);
void add_recurrent_gradient_lowering(LowerTable& table);
void add_selection_lowering(LowerTable& table);
void add_scatter_lowering(LowerTable& table);
void add_resize_lowering(LowerTable& table);
void add_quantized_product_lowering(LowerTable& table);
void add_quantized_convolution_lowering(LowerTable& table);
void add_quantized_elementwise_lowering(LowerTable& table);

// A step for the updates of parameters that wait.
void add_waiting_updates(Lowering& lowering);
// The plain kernel on the host as a step, and steps that copy what it reads there.
void lower_on_host(Lowering& lowering, NodeId id);
// A step that copies a value from the host.
void add_copy_to_device(Lowering& lowering, ValueId id, const Placement& to);

}  // namespace assay::cuda
