// The backward pass of LSTM and GRU, for the forms that are fast in the forward pass.
#include "execute/cpu/kernels/recurrent_gradient.h"
#include "base/checked.h"
#include "execute/cpu/lower/recurrent.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

// What the forward pass saved. A gradient for which it saved nothing, as where X was computed a
// second time, has the forward pass repeated.
RecurrentTraces traces_for(Lowering& lowering, NodeId id, RecurrentLayer layer) {
  if (const auto* saved = lowering.saved().find<RecurrentTraces>(id)) return *saved;
  layer.sizes.keeps_all_steps = true;
  return add_forward_steps(lowering, id, layer, {});
}

// Gradients of the op's results; nothing where nobody reads them.
RecurrentOutputs result_gradients(Lowering& lowering, const Node& node,
                                  const RecurrentLayer& layer) {
  const std::size_t first = layer.own_inputs();
  return {given_placement(lowering, node, first), given_placement(lowering, node, first + 1),
          layer.sizes.is_lstm() ? given_placement(lowering, node, first + 2) : std::nullopt};
}

// Gradients of the op's operands; nothing where nobody asks.
struct OperandGradients {
  std::optional<Placement> source;
  std::optional<Placement> input_weights;
  std::optional<Placement> recurrent_weights;
  std::optional<Placement> bias;
  std::optional<Placement> initial_hidden;
  std::optional<Placement> initial_cell;

  std::vector<Placement> all() const {
    std::vector<Placement> placements;
    for (const auto& placement :
         {source, input_weights, recurrent_weights, bias, initial_hidden, initial_cell}) {
      if (placement) placements.push_back(*placement);
    }
    return placements;
  }
};

OperandGradients place_gradients(Lowering& lowering, const Node& node) {
  const auto placed = [&](std::size_t output) -> std::optional<Placement> {
    if (!node.has_output(output)) return {};
    const Placement placement = lowering.new_row_major(node.outputs[output]);
    lowering.set_placement(node.outputs[output], placement);
    return placement;
  };
  return {placed(0), placed(1), placed(2), placed(3), placed(4), placed(5)};
}

// Every delta is multiplied by R, and by a column of each matrix whose gradient is asked for.
std::int64_t flops_of(const RecurrentSizes& sizes, const OperandGradients& gradients) {
  const std::int64_t by_state = sizes.hidden * (gradients.recurrent_weights ? 2 : 1);
  const std::int64_t by_input =
      sizes.inputs * ((gradients.source ? 1 : 0) + (gradients.input_weights ? 1 : 0));
  return saturating_multiply(2 * sizes.rows() * sizes.weight_rows(), by_state + by_input);
}

void add_direction(Lowering& lowering, NodeId id, const RecurrentLayer& layer, std::int64_t index,
                   const RecurrentTrace& trace, const RecurrentOutputs& results,
                   const OperandGradients& gradients) {
  const Node& node = lowering.node(id);
  const RecurrentSizes sizes = layer.direction(index);
  const Placement source = lowering.row_major(node.inputs[0]);
  const RecurrentWeightPlacements weights = weight_placements(lowering, node);
  const Placement workspace = workspace_floats(lowering, gradient_workspace_floats(sizes));
  StepDraft draft{.nodes = {id},
                  .algorithm = "panels",
                  .executed_flops = flops_of(sizes, gradients),
                  .reads = {source, trace.gates, trace.hidden, trace.cell},
                  .writes = gradients.all(),
                  .workspace = {workspace.buffer}};
  add_weights(weights, draft);
  for (const auto& placement : {results.all, results.last_hidden, results.last_cell}) {
    if (placement) draft.reads.push_back(*placement);
  }
  const int threads = lowering.threads();
  const std::int64_t state = sizes.batch * sizes.hidden;
  const std::int64_t rows = index * sizes.weight_rows();
  const std::int64_t output_step = layer.directions * state;
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const RecurrentGradientBuffers buffers{
        .source = at.floats(source),
        .weights = weights_of(sizes, index, weights, at),
        .gates = at.floats(trace.gates),
        .hidden = at.floats(trace.hidden),
        .cell = at.floats(trace.cell),
        .output = part_at(at, results.all, index * state),
        .output_step = output_step,
        .last_hidden = part_at(at, results.last_hidden, index * state),
        .last_cell = part_at(at, results.last_cell, index * state),
        .workspace = at.floats(workspace),
        .by_source = part_at(at, gradients.source, 0),
        .adds_to_source = index > 0,
        .by_input_weights = part_at(at, gradients.input_weights, rows * sizes.inputs),
        .by_recurrent_weights = part_at(at, gradients.recurrent_weights, rows * sizes.hidden),
        .by_bias = part_at(at, gradients.bias, 2 * rows),
        .by_initial_hidden = part_at(at, gradients.initial_hidden, index * state),
        .by_initial_cell = part_at(at, gradients.initial_cell, index * state)};
    return [=] { run_recurrent_gradient(sizes, buffers, threads); };
  });
}

bool lower_recurrent_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto layer = usual_layer(lowering, node);
  if (!layer) return false;
  const auto traces = traces_for(lowering, id, *layer);
  const RecurrentOutputs results = result_gradients(lowering, node, *layer);
  const OperandGradients gradients = place_gradients(lowering, node);
  for (std::size_t index = 0; index < traces.size(); ++index) {
    add_direction(lowering, id, *layer, static_cast<std::int64_t>(index), traces[index], results,
                  gradients);
  }
  return true;
}

}  // namespace

void add_recurrent_gradient_lowering(LowerTable& table) {
  table["assay.LstmGradient"] = lower_recurrent_gradient;
  table["assay.GruGradient"] = lower_recurrent_gradient;
}

}  // namespace assay::cpu
