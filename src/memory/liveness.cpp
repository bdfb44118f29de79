#include "memory/liveness.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/checked.h"
#include "base/fail.h"
#include "graph/node_kinds.h"
#include "memory/sharing.h"

namespace assay::memory {

namespace {

// Where a value's bytes are.
enum class Home : std::uint8_t {
  Constant,  // known before the run
  Outside,   // a capture: in the arena of a graph around this one
  Arena,
  Unknown,  // its size is not known
};

class LivenessFinder {
 public:
  LivenessFinder(const Scope& scope, const MemoryOptions& options)
      : scope_(scope),
        graph_(scope.graph),
        options_(options),
        homes_(graph_.value_count(), Home::Unknown),
        last_read_(graph_.value_count(), 0) {
    found_.buffer_of.assign(graph_.value_count(), MemoryPlan::kNoBuffer);
  }

  Liveness run() {
    find_constants();
    find_last_reads();
    for (const ValueId input : graph_.inputs()) {
      if (!is_constant(input)) place_input(input);
    }
    place_state();
    for (std::uint32_t step = 0; step < graph_.node_count(); ++step) {
      if (is_run(graph_.node(NodeId{step}))) plan_step(NodeId{step});
    }
    close_buffers();
    return std::move(found_);
  }

 private:
  bool is_known(ValueId id) const {
    return id.number < scope_.known.size() && scope_.known[id.number].has_value();
  }
  bool is_constant(ValueId id) const { return homes_[id.number] == Home::Constant; }

  void find_constants() {
    for (std::uint32_t i = 0; i < graph_.value_count(); ++i) {
      if (is_known(ValueId{i})) homes_[i] = Home::Constant;
    }
    for (const Initializer& initializer : graph_.initializers()) {
      homes_[initializer.value.number] = Home::Constant;
    }
    for (std::size_t i = 0; i < graph_.captures().size(); ++i) {
      const bool constant = i < scope_.constant_captures.size() && scope_.constant_captures[i];
      homes_[graph_.captures()[i].inner.number] = constant ? Home::Constant : Home::Outside;
    }
    for (const Node& node : graph_.nodes()) {
      if (!computes_constants(node)) continue;
      for (const ValueId output : node.outputs) {
        if (output.is_valid()) homes_[output.number] = Home::Constant;
      }
    }
  }

  bool computes_constants(const Node& node) const {
    if (graph::is_random(node) || graph::holds_subgraph(node)) return false;
    return std::ranges::all_of(
        node.inputs, [&](ValueId input) { return !input.is_valid() || is_constant(input); });
  }

  // A node whose outputs are all known need not run.
  bool is_run(const Node& node) const {
    return std::ranges::any_of(node.outputs,
                               [&](ValueId id) { return id.is_valid() && !is_constant(id); }) ||
           std::ranges::none_of(node.outputs, &ValueId::is_valid);
  }

  // Outputs are read "after the end", so that not even the last node overwrites them.
  void find_last_reads() {
    std::vector<bool> read(graph_.value_count(), false);
    const auto note = [&](ValueId id, std::size_t step) {
      if (!id.is_valid()) return;
      last_read_[id.number] = std::max(last_read_[id.number], step);
      read[id.number] = true;
    };
    for (std::uint32_t step = 0; step < graph_.node_count(); ++step) {
      const Node& node = graph_.node(NodeId{step});
      if (!is_run(node)) continue;
      for (const ValueId input : node.inputs) note(input, step);
      for_each_subgraph(node, [&](const Graph& body) {
        for (const Capture& capture : body.captures()) note(capture.outer, step);
      });
    }
    for (const ValueId output : graph_.outputs()) note(output, graph_.node_count());
    add_folded_bytes(read);
  }

  void add_folded_bytes(const std::vector<bool>& read) {
    for (std::uint32_t i = 0; i < graph_.value_count(); ++i) {
      const NodeId producer = graph_.producer(ValueId{i});
      if (!read[i] || homes_[i] != Home::Constant || !producer.is_valid()) continue;
      if (is_view(graph_.node(producer))) continue;
      found_.folded_bytes = saturating_add(found_.folded_bytes, size_of(ValueId{i}).value_or(0));
    }
  }

  std::optional<std::int64_t> size_of(ValueId id) const {
    const ValueType& type = graph_.value(id).type;
    if (!type.is_tensor() || !type.has_known_shape() || bits(type.element) == 0) {
      return std::nullopt;
    }
    const bool is_stored_otherwise = options_.stored_as && is_floating(type.element);
    const auto elements = type.shape->elements();
    if (!elements) return std::nullopt;
    return byte_size(is_stored_otherwise ? *options_.stored_as : type.element, *elements);
  }

  void place_input(ValueId id) {
    place_in_new_buffer(id, 0);
    const std::uint32_t buffer = found_.buffer_of[id.number];
    if (buffer != MemoryPlan::kNoBuffer) is_callers_[buffer] = true;
  }

  // State stays where it is from run to run.
  void place_state() {
    for (const Carried& state : graph_.carried()) {
      const std::uint32_t buffer = found_.buffer_of[state.input.number];
      if (buffer == MemoryPlan::kNoBuffer) continue;
      found_.buffers[buffer].last_step = graph_.node_count();
      state_buffer_[state.output] = buffer;
    }
  }

  // New state is written over the old, once nothing reads that any more.
  std::optional<std::uint32_t> state_to_overwrite(NodeId id, ValueId output) const {
    const auto found = state_buffer_.find(output);
    if (found == state_buffer_.end()) return std::nullopt;
    const ValueId old = found_.buffers[found->second].value;
    if (last_read_[old.number] > id.number || size_of(old) != size_of(output)) return std::nullopt;
    return found->second;
  }

  void plan_step(NodeId id) {
    const Node& node = graph_.node(id);
    plan_bodies(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.has_output(i) && !is_constant(node.outputs[i])) place_output(id, i);
    }
  }

  void place_output(NodeId id, std::size_t index) {
    const Node& node = graph_.node(id);
    const ValueId output = node.outputs[index];
    if (const auto state = state_to_overwrite(id, output)) return join(output, *state, id.number);
    if (index == 0 && size_of(output)) {
      if (shows_input(node) && place_as_view(output, node.inputs[0], id.number)) return;
      if (const auto input = input_to_overwrite(id)) {
        join(output, found_.buffer_of[input->number], id.number);
        return;
      }
    }
    place_in_new_buffer(output, id.number);
  }

  bool shows_input(const Node& node) const {
    if (!node.has_input(0)) return false;
    return is_view(node) || is_idle_dropout(node);
  }

  // Since opset 12 a third input tells whether a Dropout trains; without it, it does nothing.
  bool is_idle_dropout(const Node& node) const {
    if (!node.is("Dropout")) return false;
    if (!node.has_input(2)) return true;
    const ValueId mode = node.inputs[2];
    const Tensor* tensor = is_known(mode) ? &scope_.known[mode.number] : graph_.initializer(mode);
    return tensor != nullptr && tensor->elements() == 1 && tensor->type() == DataType::Bool &&
           tensor->to_int64().front() == 0;
  }

  bool place_as_view(ValueId output, ValueId input, std::size_t step) {
    if (homes_[input.number] == Home::Outside) {
      homes_[output.number] = Home::Outside;
      return true;
    }
    const std::uint32_t buffer = found_.buffer_of[input.number];
    if (buffer == MemoryPlan::kNoBuffer || size_of(input) != size_of(output)) return false;
    join(output, buffer, step);
    return true;
  }

  std::optional<ValueId> input_to_overwrite(NodeId id) const {
    const Node& node = graph_.node(id);
    for (const std::size_t index : overwritable_inputs(node)) {
      if (node.has_input(index) && may_overwrite(id, index)) return node.inputs[index];
    }
    return std::nullopt;
  }

  bool may_overwrite(NodeId id, std::size_t index) const {
    const Node& node = graph_.node(id);
    const ValueId input = node.inputs[index];
    const std::uint32_t buffer = found_.buffer_of[input.number];
    if (buffer == MemoryPlan::kNoBuffer || is_callers_[buffer]) return false;
    if (found_.buffers[buffer].last_step > id.number) return false;
    if (accumulates(node) && is_read_twice(node, buffer)) return false;
    return size_of(input) == size_of(node.outputs[0]);
  }

  bool is_read_twice(const Node& node, std::uint32_t buffer) const {
    return std::ranges::count_if(node.inputs, [&](ValueId input) {
             return input.is_valid() && found_.buffer_of[input.number] == buffer;
           }) > 1;
  }

  void place_in_new_buffer(ValueId id, std::size_t step) {
    const auto bytes = size_of(id);
    if (!bytes) {
      found_.unplanned.push_back(id);
      return;
    }
    const std::uint32_t buffer = add_buffer(id, *bytes, step);
    join(id, buffer, step);
  }

  std::uint32_t add_buffer(ValueId id, std::int64_t bytes, std::size_t step) {
    found_.buffers.push_back(
        {.value = id, .bytes = bytes, .offset = 0, .first_step = step, .last_step = step});
    is_callers_.push_back(false);
    return static_cast<std::uint32_t>(found_.buffers.size() - 1);
  }

  void join(ValueId id, std::uint32_t buffer, std::size_t step) {
    homes_[id.number] = Home::Arena;
    found_.buffer_of[id.number] = buffer;
    Buffer& shared = found_.buffers[buffer];
    shared.last_step = std::max({shared.last_step, step, last_read_[id.number]});
  }

  // Branches of an If never run together: the largest body's arena serves all of them.
  void plan_bodies(NodeId id) {
    std::int64_t largest = 0;
    bool is_complete = true;
    for_each_subgraph(graph_.node(id), [&](const Graph& body) {
      const MemoryPlan plan = plan_body(body);
      largest = std::max(largest, plan.arena_bytes);
      is_complete = is_complete && plan.unplanned.empty() && plan.unplanned_bodies.empty();
    });
    if (largest > 0) add_buffer(ValueId{}, largest, id.number);
    if (!is_complete) found_.unplanned_bodies.push_back(id);
  }

  MemoryPlan plan_body(const Graph& body) const {
    Scope inner{.graph = body, .depth = scope_.depth + 1};
    for (const Capture& capture : body.captures()) {
      inner.constant_captures.push_back(is_constant(capture.outer));
    }
    return plan_scope(inner, options_);
  }

  void close_buffers() {
    const std::size_t end = std::max<std::size_t>(graph_.node_count(), 1) - 1;
    for (Buffer& buffer : found_.buffers) buffer.last_step = std::min(buffer.last_step, end);
  }

  const Scope& scope_;
  const Graph& graph_;
  const MemoryOptions& options_;
  std::vector<Home> homes_;
  std::vector<std::size_t> last_read_;             // the number of nodes for an output of the graph
  std::vector<bool> is_callers_;                   // by buffer: holds an input of the graph
  std::map<ValueId, std::uint32_t> state_buffer_;  // by output that is carried
  Liveness found_;
};

}  // namespace

Liveness find_liveness(const Scope& scope, const MemoryOptions& options) {
  return LivenessFinder(scope, options).run();
}

}  // namespace assay::memory
