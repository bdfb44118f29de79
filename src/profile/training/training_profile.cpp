// The steps of a training profile: make the training step, profile it like any graph, then
// attribute time and memory.
#include "assay/training_profile.h"

#include <algorithm>
#include <numeric>

#include "assay/cost.h"
#include "base/checked.h"
#include "base/fail.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"
#include "profile/profile_prepared.h"
#include "profile/training/memory_use.h"
#include "profile/training/planned.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr std::array kPhases = {Phase::Forward, Phase::Recompute, Phase::Backward, Phase::Update};

// Facts about the program, kept after it is destroyed.
struct ProgramMemoryFacts {
  std::vector<ProgramBuffer> buffers;
  ProgramMemory memory;
};

// Labels cycle through the classes; the learning rate and the step number are constants.
Tensor input_named(const Value& input, const TrainingStep& step, double rate, std::uint64_t seed) {
  const std::string& name = input.name;
  if (step.target.is_valid() && name == step.graph.value(step.target).name &&
      input.type.element == DataType::Int64) {
    const std::int64_t count = input.type.shape->elements().value();
    std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::int64_t>(i) % step.classes;
    }
    return Tensor::of_int64(input.type.shape->values(), labels);
  }
  if (name == step.graph.value(step.rate).name)
    return Tensor::of_float({}, {static_cast<float>(rate)});
  if (name == step.graph.value(step.number).name) return Tensor::of_int64({}, {1});
  return random_inputs({input}, seed).front();
}

void feed(Program& program, const TrainingStep& step, const TrainingProfileOptions& options) {
  std::vector<Tensor> inputs;
  for (const Value& input : program.inputs()) {
    const auto given = options.profile.run.inputs.find(input.name);
    inputs.push_back(
        given != options.profile.run.inputs.end()
            ? given->second
            : input_named(input, step, options.learning_rate, options.profile.run.seed));
  }
  program.set_inputs(inputs);
  std::vector<Tensor> state;
  for (const StateSlot& slot : step.state) state.push_back(slot.initial);
  program.set_state(state);
}

// Of the program's steps. A layout change belongs to the phase of the next step, which needs it.
std::vector<Phase> phases_of(const std::vector<ProfileStep>& steps, const TrainingStep& step) {
  std::vector<Phase> phases(steps.size(), Phase::Update);
  Phase next = Phase::Update;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const StepInfo& info = steps[i].info;
    if (!info.layers.empty() && info.op != "Reorder") {
      next = step.phases[info.layers.front().number];
    }
    phases[i] = next;
  }
  return phases;
}

std::vector<PhaseTotals> phase_totals(const Profile& profile, const CostSheet& cost,
                                      const TrainingStep& step, const std::vector<Phase>& phases) {
  std::vector<PhaseTotals> totals;
  for (const Phase phase : kPhases) totals.push_back({.phase = phase});
  const auto of = [&](Phase phase) -> PhaseTotals& {
    return totals[static_cast<std::size_t>(phase)];
  };
  for (const LayerCost& layer : cost.layers) {
    if (!layer.node.is_valid()) continue;
    PhaseTotals& sum = of(step.phases[layer.node.number]);
    sum.macs = saturating_add(sum.macs, layer.macs);
    sum.flops = saturating_add(sum.flops, layer.flops);
  }
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    PhaseTotals& sum = of(phases[i]);
    sum.executed_flops = saturating_add(sum.executed_flops, profile.steps[i].info.executed_flops);
    sum.time_ms += profile.steps[i].time_ms;
    sum.share += profile.steps[i].share;
  }
  std::erase_if(totals, [](const PhaseTotals& sum) {
    return sum.phase == Phase::Recompute && sum.flops == 0 && sum.time_ms == 0;
  });
  return totals;
}

LayerPhase& part_of(TrainingLayer& layer, Phase phase) {
  if (phase == Phase::Forward) return layer.forward;
  return phase == Phase::Update ? layer.update : layer.backward;
}

// A row for every node of the model, and one for the loss and everything else.
class LayerRows {
 public:
  LayerRows(const Graph& model, const CostSheet& model_cost, const TrainingStep& step)
      : step_(step), rows_(model.node_count() + 1) {
    for (std::uint32_t i = 0; i < model.node_count(); ++i) {
      rows_[i].name = model.display_name(NodeId{i});
      rows_[i].op = model.node(NodeId{i}).op;
    }
    rows_.back().name = "(loss and the rest)";
    for (const LayerCost& cost : model_cost.layers) {
      if (cost.node.is_valid()) rows_[cost.node.number].parameters += cost.parameters;
    }
  }

  void add_work(const CostSheet& cost) {
    for (const LayerCost& one : cost.layers) {
      if (!one.node.is_valid()) continue;
      LayerPhase& part = part_of(row_of(one.node), step_.phases[one.node.number]);
      part.flops = saturating_add(part.flops, one.flops);
    }
  }

  void add_time(const std::vector<ProfileStep>& steps, const std::vector<Phase>& phases) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& nodes = steps[i].info.layers;
      if (phases[i] == Phase::Update && nodes.size() > 1) {
        add_update_time(steps[i], nodes);
        continue;
      }
      TrainingLayer& row = nodes.empty() ? rows_.back() : row_of(nodes.front());
      add_part(row, phases[i], steps[i], 1);
    }
  }

  std::vector<TrainingLayer> take() { return std::move(rows_); }

 private:
  static void add_part(TrainingLayer& row, Phase phase, const ProfileStep& step, double share) {
    LayerPhase& part = part_of(row, phase);
    part.time_ms = part.time_ms.value_or(0) + step.time_ms * share;
    row.share += step.share * share;
  }

  // One step that updates many parameters: each takes its part by its elements.
  void add_update_time(const ProfileStep& step, const std::vector<NodeId>& nodes) {
    std::vector<double> elements;
    for (const NodeId node : nodes) elements.push_back(updated_elements(node));
    const double all = std::accumulate(elements.begin(), elements.end(), 0.0);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      add_part(row_of(nodes[i]), Phase::Update, step, elements[i] / all);
  }

  // Of the parameter that the node updates, at least 1.
  double updated_elements(NodeId node) const {
    const Graph& graph = step_.graph;
    const auto& carried = graph.carried();
    const auto found =
        std::ranges::find(carried, graph.node(node).outputs.front(), &Carried::output);
    if (found == carried.end()) return 1;
    const auto& shape = graph.value(found->input).type.shape;
    return static_cast<double>(
        std::max<std::int64_t>(1, shape ? shape->elements().value_or(1) : 1));
  }

  TrainingLayer& row_of(NodeId node) {
    const NodeId layer = step_.layers[node.number];
    return layer.is_valid() ? rows_[layer.number] : rows_.back();
  }

  const TrainingStep& step_;
  std::vector<TrainingLayer> rows_;
};

TrainingMemory memory_of(const TrainingStep& step, const std::vector<Phase>& phases,
                         const ProgramMemoryFacts& facts) {
  TrainingMemory memory{.arena_bytes = facts.memory.arena_bytes,
                        .constant_bytes = facts.memory.weight_bytes};
  std::vector<LiveBuffer> live;
  for (const ProgramBuffer& buffer : facts.buffers) {
    live.push_back({buffer.value, buffer.bytes, buffer.first_step, buffer.last_step});
  }
  memory.by_step = MemoryUses(step, phases).by_step(live);
  std::int64_t most = -1;
  for (std::size_t i = 0; i < memory.by_step.size(); ++i) {
    if (total(memory.by_step[i]) <= most) continue;
    most = total(memory.by_step[i]);
    memory.peak_step = i;
  }
  return memory;
}

Prepared prepared_step(const Prepared& model, const TrainingStep& step) {
  Prepared prepared;
  prepared.model = model.model;
  prepared.batch = model.batch;
  prepared.warnings = model.warnings;
  if (model.cost.totals.parameters == 0) {
    prepared.warnings.push_back(
        "the model has no parameters: its backward pass computes the gradient of its input, and "
        "nothing is updated");
  }
  prepared.inferred = infer_shapes(step.graph);
  prepared.cost = count_costs(prepared.inferred);
  prepared.plan = plan_memory(prepared.inferred);
  return prepared;
}

}  // namespace

const PhaseTotals& TrainingProfile::totals(Phase phase) const {
  static const PhaseTotals kNone;
  const auto found = std::ranges::find(phases, phase, &PhaseTotals::phase);
  return found == phases.end() ? kNone : *found;
}

double TrainingProfile::backward_to_forward() const {
  const double forward = totals(Phase::Forward).time_ms;
  const double backward = totals(Phase::Backward).time_ms + totals(Phase::Recompute).time_ms;
  return forward > 0 ? backward / forward : 0;
}

TrainingProfile profile_training(Graph graph, std::string name,
                                 const TrainingProfileOptions& options, Progress* progress) {
  StartUp start_up{.read_ms = options.profile.read_ms};
  Prepared model;
  TrainingStep step;
  Prepared prepared;
  start_up.infer_ms = timed_ms(steady_clock(), [&] {
    model = prepare_to_run(std::move(graph), std::move(name), options.profile.run);
    step = step_to_profile(model.inferred, options.step);
    prepared = prepared_step(model, step);
  });
  const CostSheet cost = prepared.cost;
  const PlannedTraining plan =
      planned(step, prepared.plan, model.batch, options.step.optimizer.kind);
  ProgramMemoryFacts facts;
  const ProgramCallbacks callbacks{
      .after_compile = [&](Program& program) { feed(program, step, options); },
      .before_release =
          [&](const Program& program) {
            facts = {program.buffers(), program.memory()};
          }};
  TrainingProfile result{
      .step = profile_prepared(std::move(prepared), start_up, options.profile, callbacks, progress),
      .optimizer = options.step.optimizer,
      .loss = options.step.loss,
      .parameters = model.cost.totals.parameters,
      .model_flops = saturating_multiply(model.cost.totals.flops, options.step.accumulate)};
  result.step_phases = phases_of(result.step.steps, step);
  result.phases = phase_totals(result.step, cost, step, result.step_phases);
  LayerRows rows(model.inferred.graph, model.cost, step);
  rows.add_work(cost);
  rows.add_time(result.step.steps, result.step_phases);
  result.layers = rows.take();
  result.loss_flops = result.layers.back().forward.flops;
  result.memory = memory_of(step, result.step_phases, facts);
  result.memory.planned = plan;
  result.memory.peak_rss_growth_bytes = result.step.memory.peak_rss_growth_bytes;
  return result;
}

}  // namespace assay
