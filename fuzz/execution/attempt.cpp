#include "execution/attempt.h"

#include <algorithm>

#include "assay/bind.h"
#include "assay/cost.h"
#include "assay/differentiate.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/memory.h"
#include "assay/program.h"
#include "assay/training_step.h"
#include "assay/verify.h"
#include "execution/limits.h"
#include "execution/mutate.h"
#include "graph/node_kinds.h"

namespace assay::fuzz {

namespace {

const std::string kReference = "reference";

// Models that are honestly large are not run: they would only be slow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
constexpr std::int64_t kMostFlops = std::int64_t{1} << 24;
constexpr std::int64_t kMostIterations = 100;

// Small numbers for whatever the model leaves open.
Shape closed(const std::optional<Shape>& shape) {
  if (!shape) return Shape{1, 2, 4, 4};
  Shape known = *shape;
  for (std::size_t axis = 0; axis < known.rank(); ++axis) {
    if (!known[axis].is_known()) known[axis] = axis == 0 ? 1 : 2;
  }
  return known;
}

Graph bound(Graph graph) {
  Bindings bindings;
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    if (!value.type.is_tensor() || value.type.has_known_shape()) continue;
    bindings.input_shapes[value.name] = closed(value.type.shape);
  }
  return bind_inputs(std::move(graph), bindings).graph;
}

bool may_run_long(const Inferred& model, const Node& node) {
  if (!node.is("Loop")) return false;
  const Tensor* trips = node.has_input(0) ? model.known_value(node.inputs[0]) : nullptr;
  return trips == nullptr || trips->elements() != 1 || trips->to_int64().front() > kMostIterations;
}

bool is_large(const Inferred& model, const CostSheet& costs) {
  std::int64_t total = 0;
  for (const Value& value : model.graph.values()) {
    if (!value.type.shape || !value.type.shape->is_known()) continue;
    const auto elements = value.type.shape->elements();
    if (!elements || *elements > kMostElements - total) return true;
    total += *elements;
  }
  if (costs.totals.flops > kMostFlops) return true;
  return std::ranges::any_of(model.graph.nodes(),
                             [&](const Node& node) { return may_run_long(model, node); });
}

// Whether every size follows from the shapes of the inputs, whatever the file declares. Inference
// does not tell what is left open inside a subgraph.
bool sizes_are_fixed(const Inferred& model) {
  if (std::ranges::any_of(model.graph.nodes(), graph::holds_subgraph)) return false;
  Graph graph = model.graph;
  for (const Node& node : model.graph.nodes()) {
    for (const ValueId output : node.outputs) {
      if (output.is_valid()) graph.value(output).type.shape.reset();
    }
  }
  return infer_shapes(std::move(graph)).unresolved.empty();
}

// Where sizes depend on what the inputs hold, extreme inputs ask for large tensors honestly.
std::vector<Tensor> drawn_inputs(const Program& program, bool may_be_extreme,
                                 RandomNumbers& random) {
  std::vector<Tensor> tensors;
  for (const Value& input : program.inputs()) {
    if (!input.type.is_tensor() || !input.type.has_known_shape() ||
        input.type.element == DataType::Undefined) {
      throw Error(ErrorKind::BadInput, "no input of this type can be drawn");
    }
    tensors.push_back(
        drawn_tensor(input.type.element, input.type.shape->values(), random, may_be_extreme));
  }
  return tensors;
}

// Trying out algorithms takes long: it is left out most of the time.
ProgramOptions options_for(const std::string& engine, RandomNumbers& random) {
  const bool tries_algorithms = random.below(16) == 0;
  return {.engine = engine,
          .optimize_for = tries_algorithms ? OptimizeFor::Latency : OptimizeFor::Memory,
          .cpu = {.threads = random.below(8) == 0 ? 2 : 1}};
}

void run_twice(Program& program, bool may_be_extreme, RandomNumbers& random) {
  for (int i = 0; i < 2; ++i) {
    program.set_inputs(drawn_inputs(program, may_be_extreme, random));
    program.run();
  }
  program.results();
}

void run_on(const std::string& engine, const Inferred& model, RandomNumbers& random) {
  const bool are_fixed = sizes_are_fixed(model);
  expect_sizes_from_inputs(!are_fixed);
  const auto program = compile(model, options_for(engine, random));
  run_twice(*program, are_fixed, random);
}

// The gradient of everything real that comes in or is stored.
void run_gradient(const Inferred& model, RandomNumbers& random) {
  Graph graph = model.graph;
  const ValueId loss = add_sum_of_squares(graph);
  const Inferred with_loss = infer_shapes(std::move(graph));
  std::vector<ValueId> by;
  const auto add_if_real = [&](ValueId value) {
    if (is_floating(with_loss.graph.value(value).type.element)) by.push_back(value);
  };
  for (const ValueId input : with_loss.graph.inputs()) add_if_real(input);
  for (const Initializer& stored : with_loss.graph.initializers()) add_if_real(stored.value);
  Differentiated both = differentiate(with_loss, loss, by);
  for (const ValueGradient& one : both.gradients) {
    if (one.gradient.is_valid()) both.graph.add_output(one.gradient);
  }
  const std::string engine = random.below(4) == 0 ? kReference : default_engine();
  run_on(engine, infer_shapes(std::move(both.graph)), random);
}

TrainingStepOptions step_options(RandomNumbers& random) {
  constexpr OptimizerKind kKinds[] = {OptimizerKind::Sgd, OptimizerKind::Momentum,
                                      OptimizerKind::Adam, OptimizerKind::AdamW};
  constexpr Loss kLosses[] = {Loss::SumOfSquares, Loss::SumOfSquares, Loss::CrossEntropy,
                              Loss::MeanSquaredError};
  TrainingStepOptions options{.loss = kLosses[random.below(4)]};
  options.optimizer.kind = kKinds[random.below(4)];
  if (random.below(8) == 0) options.pieces = 2;
  if (random.below(8) == 0) options.accumulate = 2;
  return options;
}

void run_training(const Inferred& model, RandomNumbers& random) {
  const auto parameters = trainable_parameters(model);
  const TrainingStep step = training_step(model, parameters, step_options(random));
  const std::string engine = random.below(4) == 0 ? kReference : default_engine();
  const auto program = compile(infer_shapes(step.graph), options_for(engine, random));
  std::vector<Tensor> state;
  for (const StateSlot& slot : step.state) state.push_back(slot.initial);
  program->set_state(state);
  const bool are_fixed = sizes_are_fixed(model);
  expect_sizes_from_inputs(!are_fixed);
  run_twice(*program, are_fixed, random);
  program->state_values();
}

template <typename Run>
bool ends_well(std::atomic<Stage>& stage, Stage next, Run run) {
  stage = next;
  expect_sizes_from_inputs(false);
  try {
    run();
    return true;
  } catch (const Error&) {
    return false;
  }
}

struct Prepared {
  Inferred model = {};
  CostSheet costs = {};
};

Prepared prepared(const Graph& graph, std::atomic<Stage>& stage) {
  verify(graph);
  Prepared result{.model = infer_shapes(bound(graph))};
  stage = Stage::Count;
  result.costs = count_costs(result.model);
  plan_memory(result.model);
  return result;
}

}  // namespace

std::string_view name(Stage stage) {
  constexpr std::string_view kNames[] = {"inference",   "counting", "reference engine",
                                         "fast engine", "gradient", "training"};
  return kNames[static_cast<std::size_t>(stage)];
}

Outcome attempt(const Graph& graph, RandomNumbers& random, std::atomic<Stage>& stage) {
  Prepared ready;
  const bool is_understood =
      ends_well(stage, Stage::Infer, [&] { ready = prepared(graph, stage); });
  if (!is_understood) return Outcome::Refused;
  if (is_large(ready.model, ready.costs)) return Outcome::TooLarge;
  bool ran = ends_well(stage, Stage::Reference, [&] { run_on(kReference, ready.model, random); });
  ran |= ends_well(stage, Stage::Fast, [&] { run_on(default_engine(), ready.model, random); });
  ends_well(stage, Stage::Gradient, [&] { run_gradient(ready.model, random); });
  ends_well(stage, Stage::Training, [&] { run_training(ready.model, random); });
  return ran ? Outcome::Ran : Outcome::Refused;
}

}  // namespace assay::fuzz
