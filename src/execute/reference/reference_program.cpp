// The reference engine: a Program whose steps are the nodes of the graph, interpreted.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "assay/memory.h"
#include "base/checked.h"
#include "execute/engines.h"
#include "execute/inputs.h"
#include "execute/reference/interpreter.h"

namespace assay::reference {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

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

std::vector<StepInfo> steps_of(const Graph& graph) {
  std::vector<StepInfo> steps;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId{i});
    steps.push_back({.name = graph.display_name(NodeId{i}),
                     .op = node.op,
                     .layers = {NodeId{i}},
                     .algorithm = "reference",
                     .bytes_read = bytes_of(graph, node.inputs),
                     .weight_bytes = bytes_of(graph, initializers_of(graph, node)),
                     .bytes_written = bytes_of(graph, node.outputs)});
  }
  return steps;
}

class ReferenceProgram : public Program {
 public:
  explicit ReferenceProgram(Inferred model)
      : model_(std::move(model)),
        interpreter_(graph()),
        inputs_(execute::values_of(graph(), execute::given_inputs(graph()))),
        outputs_(execute::values_of(graph(), execute::taken_outputs(graph()))),
        state_(execute::values_of(graph(), execute::state_inputs(graph()))),
        steps_(steps_of(graph())),
        step_nanoseconds_(steps_.size(), 0) {
    execute::check_is_runnable(graph());
    memory_.planned_weight_bytes = memory_.weight_bytes = execute::stored_bytes(graph());
    memory_.planned_arena_bytes = plan_memory(model_).arena_bytes;
  }

  const std::vector<Value>& inputs() const override { return inputs_; }
  const std::vector<Value>& outputs() const override { return outputs_; }
  const std::vector<Value>& state() const override { return state_; }
  const std::vector<StepInfo>& steps() const override { return steps_; }
  std::vector<ProgramBuffer> buffers() const override { return {}; }
  int threads() const override { return 1; }

  // There is no arena: its bytes are the most that values took at once in any run so far, and the
  // planned ones as long as nothing has run.
  ProgramMemory memory() const override {
    ProgramMemory memory = memory_;
    memory.arena_bytes = has_run_ ? live_.peak() : memory.planned_arena_bytes;
    return memory;
  }

  void set_inputs(std::span<const Tensor> given) override {
    execute::check_inputs(inputs_, given);
    given_.assign(given.begin(), given.end());
  }

  void set_state(std::span<const Tensor> state) override {
    execute::check_inputs(state_, state, "state");
    state_values_.assign(state.begin(), state.end());
  }
  std::vector<Tensor> state_values() const override { return state_values_; }

  void run() override;
  std::vector<Tensor> results() const override { return results_; }

  void observe_steps(bool on) override { observes_ = on; }
  void on_step(std::function<void(std::size_t)> listener) override {
    listener_ = std::move(listener);
  }
  void reset_step_times() override {
    step_nanoseconds_.assign(steps_.size(), 0);
    run_nanoseconds_ = 0;
  }
  std::span<const std::int64_t> step_nanoseconds() const override { return step_nanoseconds_; }
  std::int64_t run_nanoseconds() const override { return run_nanoseconds_; }

 private:
  const Graph& graph() const { return model_.graph; }

  void run_step(Interpreter::Frame& frame, std::uint32_t i) {
    if (!observes_) return interpreter_.step(frame, NodeId{i});
    const auto start = Clock::now();
    interpreter_.step(frame, NodeId{i});
    step_nanoseconds_[i] += nanoseconds(Clock::now() - start);
    if (listener_) listener_(i);
  }

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
      for (std::size_t slot = 0; slot < state_.size(); ++slot) {
        if (graph().carried()[slot].output != output) continue;
        state_values_[slot] = *tensor;
        is_state = true;
      }
      if (!is_state) results_.push_back(*tensor);
    }
  }

  Inferred model_;
  Interpreter interpreter_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::vector<Value> state_;
  std::vector<StepInfo> steps_;
  ProgramMemory memory_;
  std::vector<Tensor> given_;
  std::vector<Tensor> state_values_;
  std::vector<Tensor> results_;
  LiveBytes live_;
  bool has_run_ = false;
  bool observes_ = false;
  std::function<void(std::size_t)> listener_;
  std::vector<std::int64_t> step_nanoseconds_;
  std::int64_t run_nanoseconds_ = 0;
};

void ReferenceProgram::run() {
  if (given_.size() != inputs_.size()) fail_usage("set the inputs before running the program");
  if (state_values_.size() != state_.size()) fail_usage("set the state before running the program");
  results_.clear();
  if (!has_run_) live_.ignore_stored(graph());
  live_.forget_held();
  const auto start = Clock::now();
  auto frame = interpreter_.begin(all_inputs(), {}, &live_);
  for (std::uint32_t i = 0; i < graph().node_count(); ++i) run_step(frame, i);
  keep_results(interpreter_.finish(frame));
  if (observes_) run_nanoseconds_ += nanoseconds(Clock::now() - start);
  has_run_ = true;
}

}  // namespace

std::unique_ptr<Program> compile_reference(Inferred model, const ProgramOptions&, Progress*) {
  return std::make_unique<ReferenceProgram>(std::move(model));
}

}  // namespace assay::reference
