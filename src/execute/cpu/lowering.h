// Turns a graph into steps: walks the nodes in order, lets each op's lowering function choose
// layouts, algorithms and neighbours to fuse, and keeps the books on who lives where.
//
// Nothing is allocated for activations here: a step names the buffers it touches, and gets their
// addresses once the arena is planned.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/cpu/placement.h"
#include "execute/cpu/weight_pool.h"
#include "execute/reference/runtime_value.h"
#include "transform/edit.h"

namespace assay::cpu {

class Tuner;

// A weight above this is not copied where that can be helped.
constexpr std::size_t kLargeWeight = std::size_t{64} << 20;

// Addresses of all buffers, once they have any.
class Addresses {
 public:
  explicit Addresses(std::vector<std::byte*> starts) : starts_(std::move(starts)) {}
  std::byte* start(BufferId id) const { return id.is_valid() ? starts_[id.number] : nullptr; }
  std::byte* bytes(const Place& place) const;
  float* floats(const Place& place) const { return reinterpret_cast<float*>(bytes(place)); }

 private:
  std::vector<std::byte*> starts_;
};

using Runner = std::function<void()>;
using Binder = std::function<Runner(const Addresses&)>;

struct PlannedStep {
  StepInfo info;
  Binder bind;
  std::vector<BufferId> touched;
};

struct BufferInfo {
  std::int64_t bytes = 0;
  std::byte* fixed = nullptr;  // a weight's address; null: part of the arena
};

struct LoweringOptions {
  ProgramOptions program;
  int threads = 1;
  // Keeps to algorithms in which NaN and infinity flow as in the plain kernels.
  bool ieee_strict = false;
};

// What a step reads and writes, beside its info.
struct StepDraft {
  std::vector<NodeId> nodes;  // of the lowered graph, the main one first
  std::string algorithm = "";
  std::int64_t executed_flops = 0;
  std::vector<Place> reads = {};
  std::vector<Place> writes = {};
  std::vector<BufferId> scratch = {};
  std::string fell_back = "";
};

// What a batch norm in training found of its images, channel by channel: its gradient needs it too.
struct BatchVectors {
  Place mean;
  Place variance;
  Place factor;  // scale over standard deviation
  Place shift;
};

class Lowering {
 public:
  Lowering(const Rewritten& source, const LoweringOptions& options, WeightPool& weights,
           Tuner& tuner);

  void run(Progress* progress);
  // Afterwards: brings the weights into the layouts that were chosen, and lets go of them as
  // stored.
  void prepare_weights();
  // Weights that steps read where the model keeps them.
  std::int64_t bytes_used_as_stored() const;

  const Graph& graph() const { return source_.model.graph; }
  const Node& node(NodeId id) const { return graph().node(id); }
  const Inferred& model() const { return source_.model; }
  const LoweringOptions& options() const { return options_; }
  int threads() const { return options_.threads; }
  Tuner& tuner() { return tuner_; }

  // Questions about values.
  const Tensor* constant(ValueId id) const;
  std::optional<double> number(ValueId id) const;  // a constant of one element
  bool is_float(ValueId id) const;                 // a float32 tensor of known shape
  const std::vector<std::int64_t> dims(ValueId id) const;
  bool is_state(ValueId id) const { return id.is_valid() && is_state_[id.number]; }
  bool is_available(ValueId id) const;  // a constant, or computed by a step so far
  const std::vector<NodeId>& readers(ValueId id) const { return readers_[id.number]; }
  NodeId only_reader(ValueId id) const;
  bool is_read(ValueId id) const { return visible_[id.number] || !readers_[id.number].empty(); }
  bool is_covered(NodeId id) const { return covered_[id.number]; }
  // True when nothing after `reader` needs the bytes of this value's buffer, which is the arena's
  // own: they may be overwritten.
  bool may_overwrite(ValueId id, NodeId reader) const;
  // The same of state, which its new content may replace.
  bool may_replace(ValueId id, NodeId reader) const;

  // Places of values; a change of layout becomes a step of its own, once.
  Place native(ValueId id);     // as it was left
  Place strided(ValueId id);    // any strides, never blocked
  Place row_major(ValueId id);  // contiguous
  Place in_layout(ValueId id, const Desc& desc);
  bool has_layout(ValueId id, const Desc& desc);  // it lies like that already
  std::vector<Desc> layouts(ValueId id);          // all it lies in
  bool is_dynamic(ValueId id) const;              // its shape is known only at run time

  BufferId new_buffer(std::int64_t bytes);
  Place new_row_major(ValueId id);                      // a fresh buffer for a value of known shape
  Place new_place(const Desc& desc, const Dims& dims);  // likewise in a layout of oneDNN's
  void set_place(ValueId id, Place place);
  // A weight in a layout of the engine's; made once for equal tensor and layout.
  Place weight(const Tensor& tensor, const Desc& from, const Desc& to);
  // The same with a layout of the caller's making, whose name tells it from all others.
  using PrepareWeight = std::function<void(const Tensor& values, std::byte* prepared)>;
  Place prepared_weight(const Tensor& tensor, std::string layout, std::size_t bytes,
                        const PrepareWeight& prepare);
  Place constant_floats(const std::vector<float>& values, std::vector<std::int64_t> dims);

  void cover(NodeId id) { covered_[id.number] = true; }
  void add_step(const StepDraft& draft, Binder bind);
  void add_reorder(ValueId value, const Place& from, const Place& to);

  // Values whose shape is known only at run time, by id; shared with the steps.
  const std::shared_ptr<std::vector<reference::RuntimeValue>>& dynamic_values() const {
    return dynamic_;
  }

  // What a step found on its way and the gradient of its node needs, a later node: the
  // statistics of a batch, the gates of all time steps.
  void keep_for(NodeId gradient, std::vector<Place> found) { kept_[gradient] = std::move(found); }
  const std::vector<Place>* kept_for(NodeId gradient) const {
    const auto kept = kept_.find(gradient);
    return kept == kept_.end() ? nullptr : &kept->second;
  }

  // Of programs inside the steps.
  void add_inner_memory(const ProgramMemory& memory);

  // Results.
  const ProgramMemory& inner_memory() const { return inner_memory_; }
  std::vector<PlannedStep>& steps() { return steps_; }
  const std::vector<BufferInfo>& buffers() const { return buffers_; }
  ValueId first_value_in(BufferId id) const {
    return values_in_[id.number].empty() ? ValueId{} : values_in_[id.number].front();
  }

 private:
  void place_inputs();
  void hand_state_on();
  bool is_open_state(ValueId id) const { return is_state_[id.number] && !native_[id.number]; }
  void lower(NodeId id);
  Place place_constant(ValueId id, const Tensor& tensor);
  bool may_use_stored(const Tensor& tensor) const;
  std::byte* stored_bytes_of(const Tensor& tensor);
  bool is_used_as_stored(const Tensor& tensor) const;
  const Place* place_like(ValueId id, const Place& wanted);
  std::vector<NodeId> origins_of(const std::vector<NodeId>& nodes) const;
  std::int64_t weight_bytes(std::vector<Place> reads) const;

  const Rewritten& source_;
  LoweringOptions options_;
  WeightPool& weights_;
  Tuner& tuner_;
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic_;
  ProgramMemory inner_memory_;
  std::vector<BufferInfo> buffers_;
  std::vector<PlannedStep> steps_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> visible_;
  std::vector<bool> is_state_;  // carried from run to run: laid out as its first reader wants it
  std::vector<bool> covered_;
  std::vector<std::optional<Place>> native_;
  std::vector<std::vector<Place>> others_;       // the same value in other layouts
  std::vector<std::vector<ValueId>> values_in_;  // by buffer
  using WeightKey = std::pair<std::pair<const Storage*, std::size_t>, std::string>;
  std::map<WeightKey, Place> weights_by_layout_;
  struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  std::map<const Storage*, std::vector<Stretch>> used_as_stored_;  // steps point into these bytes
  // Weights are brought into the engine's layouts after all steps are known, the largest first: the
  // original and the copy of it are together in memory while there is little else.
  struct UnpreparedWeight {
    Tensor tensor;
    PrepareWeight prepare;
    std::byte* address = nullptr;
  };
  std::vector<UnpreparedWeight> unprepared_;
  std::map<NodeId, std::vector<Place>> kept_;
};

// Calls `use` with the elements of a float32 tensor, at an address that suits them: a mapped file
// need not align them.
template <typename Use>
void with_floats(const Tensor& tensor, const Use& use) {
  const auto stored = tensor.bytes();
  if (reinterpret_cast<std::uintptr_t>(stored.data()) % alignof(float) == 0) {
    return use(reinterpret_cast<const float*>(stored.data()));
  }
  const auto copy = tensor.to_vector<float>();
  use(copy.data());
}

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

// The first half of a batch norm in training: a step that finds the statistics of its batch.
std::optional<BatchVectors> lower_batch_statistics(Lowering& lowering, NodeId id);
// A ReLU's gradient together with that of the batch norm before it, which alone reads it.
bool lower_relu_and_norm_gradient(Lowering& lowering, NodeId id);

// A product of two activations, or of what no inner product takes.
bool lower_batched_product(Lowering& lowering, NodeId id);

// The plain kernel as a step.
void lower_by_reference(Lowering& lowering, NodeId id);
// What that step does: its operands are added to the draft, and its outputs get places.
Binder reference_binder(Lowering& lowering, NodeId id, StepDraft& draft);
// Between a place of plain row-major bytes and a tensor.
Tensor tensor_at(const Place& place, const std::byte* bytes);
void store(const reference::RuntimeValue& value, const Place& place, std::byte* to,
           const std::string& name);

}  // namespace assay::cpu
