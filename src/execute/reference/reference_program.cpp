// The reference engine: a Program whose steps are the nodes of the graph, interpreted.
#include <algorithm>
#include <set>

#include "assay/memory.h"
#include "base/checked.h"
#include "execute/engine.h"
#include "execute/inputs.h"
#include "execute/precision.h"
#include "execute/program_base.h"
#include "execute/reference/interpreter.h"
#include "transform/cast_precision.h"
#include "transform/simplify.h"

namespace assay::reference {

namespace {

constexpr const char* kEngine = "reference";
constexpr const char* kDevice = "cpu";

// Of all distinct values, as far as their size is known.
std::int64_t bytes_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::int64_t total = 0;
  for (const ValueId id : std::set<ValueId>(ids.begin(), ids.end())) {
    const ValueType* type = id.is_valid() ? &graph.value(id).type : nullptr;
    const auto elements = type && type->shape ? type->shape->elements() : std::nullopt;
    if (elements) total = saturating_add(total, byte_size(type->element, *elements).value_or(0));
  }
  return total;
}

std::vector<ValueId> initializers_of(const Graph& graph, const Node& node) {
  std::vector<ValueId> found;
  for (const ValueId id : node.inputs) {
    if (id.is_valid() && graph.initializer(id) != nullptr) found.push_back(id);
  }
  return found;
}

std::vector<StepInfo> steps_of(const Graph& graph,
                               const std::vector<std::vector<NodeId>>& origins) {
  std::vector<StepInfo> steps;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId{i});
    steps.push_back({.name = graph.display_name(NodeId{i}),
                     .op = node.op,
                     .layers = origins.empty() ? std::vector{NodeId{i}} : origins[i],
                     .algorithm = "reference",
                     .precision = execute::precision_of(graph, node),
                     .device = kDevice,
                     .bytes_read = bytes_of(graph, node.inputs),
                     .weight_bytes = bytes_of(graph, initializers_of(graph, node)),
                     .bytes_written = bytes_of(graph, node.outputs)});
  }
  return steps;
}

class ReferenceProgram final : public execute::ProgramBase {
 public:
  // `origins`: by node, those of the model given that it stands for; empty: itself.
  ReferenceProgram(Inferred model, bool keeps_outputs,
                   const std::vector<std::vector<NodeId>>& origins = {})
      : ProgramBase(kEngine, model.graph, 1, keeps_outputs),
        model_(std::move(model)),
        interpreter_(graph()),
        steps_(steps_of(graph(), origins)) {
    memory_.planned_weight_bytes = memory_.weight_bytes = execute::stored_bytes(graph());
    memory_.planned_arena_bytes = plan_memory(model_).arena_bytes;
    replace_steps(steps_.size());
  }

  const std::vector<StepInfo>& steps() const override { return steps_; }
  std::vector<ProgramBuffer> buffers() const override { return {}; }

  // There is no arena: its bytes are the most that values took at once in any run so far, and the
  // planned ones as long as nothing has run.
  ProgramMemory memory() const override {
    ProgramMemory memory = memory_;
    memory.arena_bytes = has_run() ? live_.peak() : memory.planned_arena_bytes;
    return memory;
  }

 protected:
  void take_inputs(std::span<const Tensor> given) override {
    given_.assign(given.begin(), given.end());
  }
  void take_state(std::span<const Tensor> state) override {
    state_values_.assign(state.begin(), state.end());
  }
  std::vector<Tensor> current_state() const override { return state_values_; }
  void run_steps() override;
  std::vector<Tensor> last_results() const override { return results_; }
  void show_outputs(std::size_t steps) override;

 private:
  const Graph& graph() const { return model_.graph; }

  std::vector<RuntimeValue> all_inputs() const {
    std::vector<RuntimeValue> all;
    auto next = given_.begin();
    for (const ValueId input : graph().inputs()) {
      const auto state = std::ranges::find(graph().carried(), input, &Carried::input);
      all.push_back(
          state == graph().carried().end()
              ? *next++
              : state_values_[static_cast<std::size_t>(state - graph().carried().begin())]);
    }
    return all;
  }

  void keep_results(const std::vector<RuntimeValue>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ValueId output = graph().outputs()[i];
      const Tensor* tensor = values[i].tensor();
      if (tensor == nullptr) fail_bad_input("output '{}' is no tensor", graph().value(output).name);
      bool is_state = false;
      for (std::size_t slot = 0; slot < state_values_.size(); ++slot) {
        if (graph().carried()[slot].output != output) continue;
        state_values_[slot] = *tensor;
        is_state = true;
      }
      if (!is_state) results_.push_back(*tensor);
    }
  }

  Inferred model_;
  Interpreter interpreter_;
  std::vector<StepInfo> steps_;
  ProgramMemory memory_;
  std::vector<Tensor> given_;
  std::vector<Tensor> state_values_;
  std::vector<Tensor> results_;
  Interpreter::Frame frame_;  // of the run
  LiveBytes live_;
};

void ReferenceProgram::run_steps() {
  results_.clear();
  if (!has_run()) live_.ignore_stored(graph());
  live_.forget_all();
  frame_ = interpreter_.begin(all_inputs(), {}, &live_);
  run_each(graph().node_count(), [&](std::size_t i) {
    interpreter_.step(frame_, NodeId{static_cast<std::uint32_t>(i)});
  });
  keep_results(interpreter_.finish(frame_));
}

// What no node makes, an input or a stored tensor, is complete from the start.
void ReferenceProgram::show_outputs(std::size_t steps) {
  const std::vector<ValueId> outputs = execute::taken_outputs(graph());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NodeId maker = graph().producer(outputs[i]);
    if (steps != (maker.is_valid() ? maker.number + 1 : 0)) continue;
    const Tensor* tensor = interpreter_.value_of(frame_, outputs[i]).tensor();
    if (tensor == nullptr) continue;  // refused when the run ends
    show({.output = i, .type = tensor->type(), .dims = tensor->dims(), .bytes = tensor->bytes()});
  }
}

// A simplified graph may know values that no node of it computes any more.
Inferred with_known_values_stored(Inferred model) {
  for (std::uint32_t i = 0; i < model.graph.value_count(); ++i) {
    const ValueId id{i};
    const Tensor* known = model.known_value(id);
    const bool is_made = model.graph.producer(id).is_valid() ||
                         std::ranges::find(model.graph.inputs(), id) != model.graph.inputs().end();
    if (known != nullptr && !is_made && model.graph.initializer(id) == nullptr)
      model.graph.add_initializer(id, Tensor(*known));
  }
  return model;
}

}  // namespace

execute::Engine engine() {
  return {.info = {.name = kEngine, .device = kDevice, .is_reference = true},
          .compile = [](Inferred model, const ProgramOptions& options,
                        Progress*) -> std::unique_ptr<Program> {
            if (!options.precision)
              return std::make_unique<ReferenceProgram>(std::move(model), options.keep_outputs);
            transform::Rewritten cast = transform::with_precision(
                transform::simplify(std::move(model)), {.type = *options.precision});
            return std::make_unique<ReferenceProgram>(
                with_known_values_stored(std::move(cast.model)), options.keep_outputs,
                cast.origins);
          }};
}

}  // namespace assay::reference
