// Turns a graph into steps: walks the nodes in order, lets each op's lowering function choose
// layouts, algorithms and neighbours to fuse, and records where each value lives.
//
// Nothing is allocated for activations here: a step names the buffers it touches, and gets their
// addresses once the arena is planned.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/buffers.h"
#include "execute/cpu/saved_for_backward.h"
#include "execute/cpu/step.h"
#include "execute/cpu/weights.h"
#include "execute/reference/runtime_value.h"
#include "execute/value_facts.h"
#include "transform/cast_precision.h"
#include "transform/edit.h"

namespace assay::cpu {

class Tuner;

struct LoweringOptions {
  ProgramOptions program;
  int threads = 1;
  // Keeps to algorithms in which NaN and infinity flow as in the plain kernels.
  bool ieee_strict = false;
  // At most so much is stored in 16 bits, where the model has numbers of 16 bits.
  transform::PrecisionPlan::Stored stored = transform::PrecisionPlan::Stored::Everything;
};

// An output where callers see it, complete when so many steps have run.
struct CompleteOutput {
  ValueId id;
  Placement placement;
  std::size_t steps = 0;
};

class Lowering {
 public:
  Lowering(const transform::Rewritten& source, const LoweringOptions& options, WeightPool& weights,
           Tuner& tuner);
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  void run(Progress* progress);

  const Graph& graph() const { return source_.model.graph; }
  const Node& node(NodeId id) const { return graph().node(id); }
  const Inferred& model() const { return source_.model; }
  const LoweringOptions& options() const { return options_; }
  int threads() const { return options_.threads; }
  Tuner& tuner() { return tuner_; }
  Weights& weights() { return weights_; }
  SavedForBackward& saved() { return saved_; }

  // What is known of values beforehand: value_facts.h.
  const Tensor* constant(ValueId id) const { return values_.constant(id); }
  std::optional<double> number(ValueId id) const { return values_.number(id); }
  bool is_float(ValueId id) const { return values_.is_float(id); }
  bool is_real(ValueId id) const { return values_.is_real(id); }
  DataType type(ValueId id) const { return values_.type(id); }
  bool is_dynamic(ValueId id) const { return values_.is_dynamic(id); }
  std::vector<std::int64_t> dims(ValueId id) const { return values_.dims(id); }
  bool is_state(ValueId id) const { return values_.is_state(id); }
  const std::vector<NodeId>& readers(ValueId id) const { return values_.readers(id); }
  NodeId only_reader(ValueId id) const { return values_.only_reader(id); }
  bool is_read(ValueId id) const { return values_.is_read(id); }

  // How far lowering has come.
  bool is_available(ValueId id) const;  // a constant, or computed by a step so far
  bool is_covered(NodeId id) const { return covered_[id.number]; }
  void cover(NodeId id) { covered_[id.number] = true; }
  // True when nothing after `reader` needs the bytes of this value's buffer, which is the arena's
  // own: they may be overwritten.
  bool may_overwrite(ValueId id, NodeId reader) const;
  // The same of state, which its new content may replace.
  bool may_replace(ValueId id, NodeId reader) const;

  // Where values live. A layout change is a step of its own, added once. A floating value may be
  // stored in another floating type than the graph's; `strided` and `row_major` convert it to the
  // graph's type, the functions `…_in_any_type` do not.
  Placement native(ValueId id);                       // as it was left
  Placement strided(ValueId id);                      // any strides, never blocked
  Placement row_major(ValueId id);                    // contiguous
  Placement row_major_as(ValueId id, DataType type);  // contiguous, in this floating type
  Placement strided_in_any_type(ValueId id);
  Placement row_major_in_any_type(ValueId id);
  Placement in_layout(ValueId id, const Desc& desc);
  bool has_layout(ValueId id, const Desc& desc);  // it has that layout already
  std::vector<Desc> layouts(ValueId id);          // all it has

  BufferId new_buffer(std::int64_t bytes) { return buffers_.add(bytes); }
  Placement new_row_major(ValueId id);  // a fresh buffer for a value of known shape
  Placement new_row_major_as(ValueId id, DataType type);
  Placement with_buffer(Placement placement);  // the same placement in a fresh buffer
  Placement new_placement(const Desc& desc, const Dims& dims);  // likewise in a layout of oneDNN's
  void set_placement(ValueId id, Placement placement);

  void add_step(const StepDraft& draft, Binder bind);
  void add_reorder(ValueId value, const Placement& from, const Placement& to);
  void add_conversion(ValueId value, const Placement& from, const Placement& to);

  // Values whose shape is known only at run time, by id; shared with the steps.
  const std::shared_ptr<std::vector<reference::RuntimeValue>>& dynamic_values() const {
    return dynamic_;
  }

  // Of programs inside the steps.
  void add_inner_memory(const ProgramMemory& memory);

  // Results.
  const ProgramMemory& inner_memory() const { return inner_memory_; }
  std::vector<PlannedStep>& steps() { return steps_; }
  // All but constants and dynamic values.
  const std::vector<CompleteOutput>& complete_outputs() const { return complete_outputs_; }
  const execute::Buffers& buffers() const { return buffers_; }

 private:
  // Where a value lives: as it was left and, copied, in other layouts.
  struct ValuePlacements {
    std::optional<Placement> native;
    std::vector<Placement> others;
  };

  void place_inputs();
  void hand_state_on();
  void find_complete_outputs();
  void complete(ValueId output, Placement placement);
  Placement as_shown(ValueId output);
  void lower(NodeId id);
  Placement place_constant(ValueId id, const Tensor& tensor);
  ValuePlacements& placements(ValueId id) { return placements_[id.number]; }
  const ValuePlacements& placements(ValueId id) const { return placements_[id.number]; }
  // State that nobody has asked for yet: its first reader chooses the layout.
  bool is_open_state(ValueId id) const { return is_state(id) && !placements(id).native; }
  const Placement* placement_like(ValueId id, const Placement& wanted);
  Placement in_type(ValueId id, DataType type);
  Placement copied_to(ValueId id, const Placement& from, const Placement& to);
  std::vector<NodeId> origins_of(const std::vector<NodeId>& nodes) const;
  std::int64_t weight_bytes(std::vector<Placement> reads) const;

  const transform::Rewritten& source_;
  LoweringOptions options_;
  Tuner& tuner_;
  execute::ValueFacts values_;
  execute::Buffers buffers_;
  Weights weights_;
  std::vector<ValuePlacements> placements_;  // by value
  std::vector<bool> covered_;                // by node
  SavedForBackward saved_;
  std::vector<PlannedStep> steps_;
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic_;
  std::vector<ValueId> open_outputs_;  // that are not complete yet
  std::vector<CompleteOutput> complete_outputs_;
  ProgramMemory inner_memory_;
};

// Lowers one node, perhaps together with others; false: not in this form, use the plain kernel.
using LowerFunction = bool (*)(Lowering&, NodeId);
using LowerTable = std::map<std::string, LowerFunction>;
void add_convolution_lowering(LowerTable& table);
void add_convolution_gradient_lowering(LowerTable& table);
void add_pooling_lowering(LowerTable& table);
void add_optimizer_lowering(LowerTable& table);
void add_batch_norm_gradient_lowering(LowerTable& table);
void add_pooling_gradient_lowering(LowerTable& table);
void add_row_gradient_lowering(LowerTable& table);
void add_loss_lowering(LowerTable& table);
void add_product_lowering(LowerTable& table);
void add_quantized_convolution_lowering(LowerTable& table);
void add_integer_product_lowering(LowerTable& table);
void add_quantized_conversion_lowering(LowerTable& table);
void add_byte_table_lowering(LowerTable& table);
void add_quantized_arithmetic_lowering(LowerTable& table);
void add_quantized_concat_lowering(LowerTable& table);
void add_quantized_product_lowering(LowerTable& table);
void add_quantized_pooling_lowering(LowerTable& table);
void add_quantized_softmax_lowering(LowerTable& table);
void add_weight_only_product_lowering(LowerTable& table);
void add_cached_attention_lowering(LowerTable& table);
void add_integer_convolution_lowering(LowerTable& table);
void add_quantized_recurrent_lowering(LowerTable& table);
void add_elementwise_lowering(LowerTable& table);
void add_view_lowering(LowerTable& table);
void add_movement_lowering(LowerTable& table);
void add_gather_lowering(LowerTable& table);
void add_normalization_lowering(LowerTable& table);
void add_resize_lowering(LowerTable& table);
void add_reduction_lowering(LowerTable& table);
void add_recurrent_lowering(LowerTable& table);
void add_recurrent_gradient_lowering(LowerTable& table);
void add_branch_lowering(LowerTable& table);
void add_cast_lowering(LowerTable& table);
void add_direct_lowering(LowerTable& table);
void add_typed_lowering(LowerTable& table);
void add_loop_lowering(LowerTable& table);

// The first half of a batch norm in training: a step that finds the statistics of its batch.
std::optional<BatchVectors> lower_batch_statistics(Lowering& lowering, NodeId id);
// A ReLU's gradient together with that of the batch norm before it, which alone reads it.
bool lower_relu_and_norm_gradient(Lowering& lowering, NodeId id);

// A Cast between integers, or from them to floats.
bool lower_integer_cast(Lowering& lowering, NodeId id);
// An element-wise op on integers, truths or doubles, or one that is no part of a chain.
bool lower_typed(Lowering& lowering, NodeId id);
// A Pad of any mode and type.
bool lower_pad_directly(Lowering& lowering, NodeId id);

// A product of two activations, or of what no inner product takes.
bool lower_batched_product(Lowering& lowering, NodeId id);

// The same of 8-bit numbers: a QLinearMatMul whose second operand changes from run to run.
bool lower_product_of_activations(Lowering& lowering, NodeId id);
// A QLinearConv whose weights, less their zero point, need 9 bits.
bool lower_convolution_by_sums(Lowering& lowering, NodeId id);

// The plain kernel as a step.
void lower_by_reference(Lowering& lowering, NodeId id);
// What that step does: its operands are added to the draft, and its outputs get placements.
Binder reference_binder(Lowering& lowering, NodeId id, StepDraft& draft);
// Between a row-major placement and a tensor.
Tensor tensor_at(const Placement& placement, const std::byte* bytes);
void store(const reference::RuntimeValue& value, const Placement& placement, std::byte* to,
           const std::string& name);

}  // namespace assay::cpu
