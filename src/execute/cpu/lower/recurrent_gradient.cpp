// The way back through LSTM and GRU, in the form in which they are fast forward.
#include "execute/cpu/kernels/recurrent_gradient.h"
#include "base/checked.h"
#include "execute/cpu/lower/recurrent.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

// What the forward run kept. A gradient without one, as where X was computed a second time, has the
// forward run repeated.
std::vector<RecurrentTrace> traces_for(Lowering& lowering, NodeId id, RecurrentLayer layer) {
  const auto* kept = lowering.kept_for(id);
  if (kept == nullptr) {
    layer.sizes.keeps_all_steps = true;
    return add_forward_steps(lowering, id, layer, {});
  }
  std::vector<RecurrentTrace> traces;
  for (std::size_t i = 0; i < kept->size(); i += 3) {
    traces.push_back({(*kept)[i], (*kept)[i + 1], (*kept)[i + 2]});
  }
  return traces;
}

// Gradients of the op's results; nothing where nobody reads them.
RecurrentOutputs result_gradients(Lowering& lowering, const Node& node,
                                  const RecurrentLayer& layer) {
  const std::size_t first = layer.own_inputs();
  return {given_place(lowering, node, first), given_place(lowering, node, first + 1),
          layer.sizes.is_lstm() ? given_place(lowering, node, first + 2) : std::nullopt};
}

// Gradients of the op's operands; nothing where nobody asks.
struct OperandGradients {
  std::optional<Place> source;
  std::optional<Place> input_weights;
  std::optional<Place> recurrent_weights;
  std::optional<Place> bias;
  std::optional<Place> initial_hidden;
  std::optional<Place> initial_cell;

  std::vector<Place> all() const {
    std::vector<Place> places;
    for (const auto& place :
         {source, input_weights, recurrent_weights, bias, initial_hidden, initial_cell}) {
      if (place) places.push_back(*place);
    }
    return places;
  }
};

OperandGradients place_gradients(Lowering& lowering, const Node& node) {
  const auto placed = [&](std::size_t output) -> std::optional<Place> {
    if (!node.has_output(output)) return {};
    const Place place = lowering.new_row_major(node.outputs[output]);
    lowering.set_place(node.outputs[output], place);
    return place;
  };
  return {placed(0), placed(1), placed(2), placed(3), placed(4), placed(5)};
}

// Every delta meets R on its way back, and a column of each matrix whose gradient is asked for.
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
  const Place source = lowering.row_major(node.inputs[0]);
  const RecurrentWeightPlaces weights = weight_places(lowering, node);
  const Place scratch = scratch_floats(lowering, gradient_scratch_floats(sizes));
  StepDraft draft{.nodes = {id},
                  .algorithm = "panels",
                  .executed_flops = flops_of(sizes, gradients),
                  .reads = {source, trace.gates, trace.hidden, trace.cell},
                  .writes = gradients.all(),
                  .scratch = {scratch.buffer}};
  add_weights(weights, draft);
  for (const auto& place : {results.all, results.last_hidden, results.last_cell}) {
    if (place) draft.reads.push_back(*place);
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
        .scratch = at.floats(scratch),
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
