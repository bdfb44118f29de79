#include "assay/training_step.h"

#include <algorithm>
#include <array>

#include "assay/differentiate.h"
#include "assay/recompute.h"
#include "base/fail.h"
#include "base/text.h"
#include "kernels/real.h"
#include "transform/dropout.h"
#include "transform/training/accumulate.h"

namespace assay {

using namespace assay::transform;

namespace {

constexpr std::array<std::pair<std::string_view, OptimizerKind>, 4> kOptimizers = {
    {{"sgd", OptimizerKind::Sgd},
     {"momentum", OptimizerKind::Momentum},
     {"adam", OptimizerKind::Adam},
     {"adamw", OptimizerKind::AdamW}}};

constexpr std::array<std::pair<std::string_view, Loss>, 3> kLosses = {
    {{"sum-of-squares", Loss::SumOfSquares},
     {"cross-entropy", Loss::CrossEntropy},
     {"mean-squared-error", Loss::MeanSquaredError}}};

template <typename Table, typename Kind>
std::string_view name_in(const Table& table, Kind kind) {
  return std::ranges::find(table, kind, [](const auto& row) { return row.second; })->first;
}

template <typename Table>
auto named_in(const Table& table, std::string_view name, std::string_view what) {
  const auto found = std::ranges::find(table, name, [](const auto& row) { return row.first; });
  if (found != table.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [one, kind] : table) known.emplace_back(one);
  fail_usage("there is no {} '{}': choose from {}", what, name, join(known, ", "));
}

// Puts nodes, inputs and outputs in order: an update stands as early as it can, so that a gradient
// need not wait for the others.
class StepMaker {
 public:
  StepMaker(const Inferred& model, std::span<const ValueId> parameters,
            const TrainingStepOptions& options)
      : model_(model), options_(options) {
    trainable_ = trainable(with_dropouts_on(), parameters);
  }

  TrainingStep make() {
    differentiate_loss();
    if (options_.pieces > 1) repeat_pieces();
    if (options_.accumulate > 1) {
      part_ = accumulated(part_, options_.accumulate, options_.loss != Loss::SumOfSquares);
    }
    made_.rate = part_.graph.add_value(unused_name(part_.graph, "learning_rate"),
                                       tensor_type(DataType::Float32, Shape{}));
    find_updates();
    made_.graph = infer_shapes(ordered()).graph;
    return std::move(made_);
  }

 private:
  // Before anything is simplified: a Dropout that is off does nothing, and would be left out.
  Inferred with_dropouts_on() {
    Graph graph = model_.graph;
    made_.number =
        graph.add_value(unused_name(graph, "step"), tensor_type(DataType::Int64, Shape{}));
    graph.add_input(made_.number);
    turn_dropouts_on(graph, made_.number, options_.seed);
    return infer_shapes(std::move(graph));
  }

  // What gradients are taken of: the parameters, or the inputs of a model that has none.
  std::vector<ValueId> differentiated_values() const {
    if (!trainable_.parameters.empty()) return trainable_.parameters;
    if (!options_.input_gradients) fail_bad_input("the model has no parameters to train");
    if (options_.accumulate > 1) {
      fail_usage(
          "gradients of several batches add up to an update, and the model has no "
          "parameters to update");
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : model_.graph.inputs()) {
      const bool is_stored = model_.graph.initializer(input) != nullptr;
      if (!is_stored && is_floating(model_.graph.value(input).type.element)) {
        inputs.push_back(input);
      }
    }
    if (inputs.empty()) fail_bad_input("the model has neither parameters nor floating inputs");
    return inputs;
  }

  bool has_parameters() const { return !trainable_.parameters.empty(); }

  void differentiate_loss() {
    const std::vector<ValueId> values = differentiated_values();
    Inferred forward = infer_shapes(std::move(trainable_.graph));
    const AddedLoss loss = add_loss(forward.graph, options_.loss);
    made_.target = loss.target;
    made_.classes = loss.classes;
    forward = infer_shapes(std::move(forward.graph));
    Differentiated back = differentiate(forward, loss.loss, values);
    const bool depends = std::ranges::any_of(
        back.gradients, [](const ValueGradient& one) { return one.gradient.is_valid(); });
    if (!depends) {
      fail_bad_input("the loss depends on no {} of the model",
                     has_parameters() ? "parameter" : "input");
    }
    begin_part(std::move(back), loss.loss);
  }

  void begin_part(Differentiated back, ValueId loss) {
    forward_nodes_ = back.forward_nodes;
    for (std::size_t i = 0; i < back.graph.node_count(); ++i) {
      const bool is_forward = i < forward_nodes_;
      part_.phases.push_back(is_forward ? Phase::Forward : Phase::Backward);
      part_.layers.push_back(layer_of(is_forward ? NodeId{static_cast<std::uint32_t>(i)}
                                                 : back.gradient_of[i - forward_nodes_]));
    }
    part_.graph = infer_shapes(std::move(back.graph)).graph;
    part_.gradients = std::move(back.gradients);
    for (const ValueId input : model_.graph.inputs()) {
      if (model_.graph.initializer(input) == nullptr) part_.samples.push_back(input);
    }
    if (made_.target.is_valid()) part_.samples.push_back(made_.target);
    part_.outputs.assign(model_.graph.outputs().begin(), model_.graph.outputs().end());
    part_.loss = loss;
    part_.statistics = trainable_.statistics;
  }

  NodeId layer_of(NodeId forward) const {
    const bool is_models = forward.is_valid() && forward.number < trainable_.layers.size();
    return is_models ? trainable_.layers[forward.number] : NodeId{};
  }

  void repeat_pieces() {
    Recomputed again = recompute(part_.graph, forward_nodes_, options_.pieces);
    std::vector<Phase> phases;
    std::vector<NodeId> layers;
    for (std::size_t i = 0; i < again.graph.node_count(); ++i) {
      const std::uint32_t origin = again.origin_of[i].number;
      phases.push_back(again.repeats[i] ? Phase::Recompute : part_.phases[origin]);
      layers.push_back(part_.layers[origin]);
    }
    made_.repeated_nodes = again.repeat_count();
    part_.graph = std::move(again.graph);
    part_.phases = std::move(phases);
    part_.layers = std::move(layers);
  }

  void find_updates() {
    Graph& graph = part_.graph;
    after_.resize(graph.node_count());
    const auto readers = consumers(graph);
    for (const auto& [parameter, gradient] : part_.gradients) {
      if (!gradient.is_valid()) continue;
      made_.gradients.push_back(gradient);
      if (!has_parameters()) continue;
      Update update =
          update_of(graph, options_.optimizer, {made_.rate, made_.number, parameter, gradient});
      std::uint32_t last = graph.producer(gradient).number;
      for (const NodeId reader : readers[parameter.number]) last = std::max(last, reader.number);
      after_[last].push_back(std::move(update));
      position_.push_back({last, after_[last].size() - 1});
    }
  }

  const Update& update(std::size_t i) const {
    return after_[position_[i].first][position_[i].second];
  }

  Graph ordered() {
    const Graph& old = part_.graph;
    Graph graph;
    graph.name = old.name;
    graph.info = old.info;
    graph.opsets = old.opsets;
    graph.opsets[std::string(kOwnDomain)] = 1;
    graph.reserve(old.value_count(), old.node_count() + position_.size());
    for (const Value& value : old.values()) graph.add_value(value.name, value.type);
    add_constants(graph);
    add_inputs_and_outputs(graph);
    add_state(graph);
    add_nodes(graph);
    return graph;
  }

  bool is_trained(ValueId value) const {
    return std::ranges::any_of(part_.gradients, [&](const ValueGradient& one) {
      return one.value == value && one.gradient.is_valid();
    });
  }

  void add_constants(Graph& graph) const {
    for (const auto& [value, tensor] : part_.graph.initializers()) {
      graph.add_initializer(value, tensor);
    }
    for (const ValueId parameter : trainable_.parameters) {
      if (!is_trained(parameter)) graph.add_initializer(parameter, stored(parameter));
    }
  }

  void add_inputs_and_outputs(Graph& graph) {
    made_.target = made_.target.is_valid() ? part_.samples.back() : ValueId{};
    made_.loss = part_.loss;
    for (const ValueId input : part_.samples) graph.add_input(input);
    graph.add_input(made_.rate);
    graph.add_input(made_.number);
    graph.add_output(made_.loss);
    for (const ValueId output : part_.outputs) graph.add_output(output);
    if (has_parameters()) return;
    for (const ValueId gradient : made_.gradients) graph.add_output(gradient);
  }

  void add_slot(Graph& graph, const Carried& carried, StateSlot slot) {
    graph.add_input(carried.input);
    graph.add_output(carried.output);
    graph.carry(carried);
    made_.state.push_back(std::move(slot));
  }

  void add_state(Graph& graph) {
    using Kind = StateSlot::Kind;
    for (std::size_t i = 0; i < position_.size(); ++i) {
      const Carried& carried = update(i).carried.front();
      const ValueId parameter = carried.input;
      add_slot(graph, carried, {Kind::Parameter, graph.value(parameter).name, stored(parameter)});
    }
    for (const Carried& carried : part_.statistics) {
      add_slot(graph, carried,
               {Kind::Statistic, graph.value(carried.input).name, stored(carried.input)});
    }
    for (std::size_t i = 0; i < position_.size(); ++i) {
      const auto& carried = update(i).carried;
      for (std::size_t state = 1; state < carried.size(); ++state) {
        add_slot(graph, carried[state],
                 {Kind::Optimizer, graph.value(carried[0].input).name,
                  zeros_like(stored(carried[0].input))});
      }
    }
  }

  void add_nodes(Graph& graph) {
    for (std::uint32_t i = 0; i < part_.graph.node_count(); ++i) {
      add(graph, part_.graph.node(NodeId{i}), part_.phases[i], part_.layers[i]);
      for (Update& update : after_[i]) {
        add(graph, std::move(update.node), Phase::Update, part_.layers[i]);
      }
    }
  }

  void add(Graph& graph, Node node, Phase phase, NodeId layer) {
    graph.add_node(std::move(node));
    made_.phases.push_back(phase);
    made_.layers.push_back(layer);
  }

  const Tensor& stored(ValueId value) const { return *model_.graph.initializer(value); }

  static Tensor zeros_like(const Tensor& tensor) {
    const std::vector<double> zeros(static_cast<std::size_t>(tensor.elements()), 0.0);
    return kernels::store_real(tensor.type(), tensor.dims(), zeros);
  }

  const Inferred& model_;
  const TrainingStepOptions& options_;
  Trainable trainable_;
  std::size_t forward_nodes_ = 0;
  PartOfBatch part_;
  std::vector<std::vector<Update>> after_;                       // by node they follow
  std::vector<std::pair<std::uint32_t, std::size_t>> position_;  // in `after_`, by update
  TrainingStep made_;
};

}  // namespace

std::string_view name(OptimizerKind kind) {
  return name_in(kOptimizers, kind);
}

OptimizerKind optimizer_named(std::string_view name) {
  return named_in(kOptimizers, name, "optimizer");
}

std::size_t states_of(OptimizerKind kind) {
  if (kind == OptimizerKind::Sgd) return 0;
  return kind == OptimizerKind::Momentum ? 1 : 2;
}

std::string_view name(Loss loss) {
  return name_in(kLosses, loss);
}

Loss loss_named(std::string_view name) {
  return named_in(kLosses, name, "loss");
}

std::string_view name(Phase phase) {
  constexpr std::string_view kNames[] = {"forward", "recompute", "backward", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

TrainingStep training_step(const Inferred& model, std::span<const ValueId> parameters,
                           const TrainingStepOptions& options) {
  if (options.accumulate < 1) fail_usage("a step of {} batches is none", options.accumulate);
  return StepMaker(model, parameters, options).make();
}

}  // namespace assay
