// LSTM and GRU in their usual form: default activations, no peepholes, no clipping, sequences of
// equal length. Weights that do not change are packed once, others in every run.
#include "execute/cpu/lower/recurrent.h"

#include "base/checked.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

namespace {

bool is_lstm(const Node& node) {
  return node.op == "LSTM" || node.op == "LstmGradient" || node.op == "DynamicQuantizeLSTM";
}

bool has_usual_activations(const Node& node) {
  if (node.find("activations") == nullptr) return true;
  const auto* given = node.get<std::vector<std::string>>("activations");
  const std::vector<std::string> usual = is_lstm(node)
                                             ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                             : std::vector<std::string>{"Sigmoid", "Tanh"};
  for (std::size_t i = 0; i < given->size(); ++i) {
    if ((*given)[i] != usual[i % usual.size()]) return false;
  }
  return true;
}

bool has_usual_form(const Node& node) {
  for (const char* attribute : {"activation_alpha", "activation_beta", "clip"}) {
    if (node.find(attribute) != nullptr) return false;
  }
  if (node.int_or("input_forget", 0) != 0 || node.int_or("layout", 0) != 0) return false;
  if (node.has_input(4) || (is_lstm(node) && node.has_input(7))) return false;
  return node.has_input(0) && node.has_input(1) && node.has_input(2) && has_usual_activations(node);
}

// Matrices of weights that do not change may have 16 bits.
bool is_half_matrix(const Lowering& lowering, const Node& node, std::size_t input) {
  return (input == 1 || input == 2) && lowering.constant(node.inputs[input]) != nullptr &&
         lowering.is_real(node.inputs[input]);
}

bool has_float_inputs(const Lowering& lowering, const Node& node) {
  for (std::size_t input = 0; input < node.inputs.size(); ++input) {
    if (node.has_input(input) && !lowering.is_float(node.inputs[input]) &&
        !is_half_matrix(lowering, node, input))
      return false;
  }
  return true;
}

// Whether weights can be packed before the first run.
bool has_constant_weights(const Lowering& lowering, const Node& node) {
  for (const std::size_t input : {1u, 2u, 3u}) {
    if (node.has_input(input) && lowering.constant(node.inputs[input]) == nullptr) return false;
  }
  return true;
}

Placement packed_constants(Lowering& lowering, const Node& node, const RecurrentSizes& sizes,
                           std::int64_t direction) {
  const auto floats_of = [&](std::size_t input) {
    if (!node.has_input(input)) return std::vector<float>();
    return transform::converted(*lowering.constant(node.inputs[input]), DataType::Float32)
        .to_vector<float>();
  };
  const auto input = floats_of(1);
  const auto recurrent = floats_of(2);
  const auto bias = floats_of(3);
  const PlainWeights plain =
      direction_of(sizes, direction,
                   {input.data(), recurrent.data(), node.has_input(3) ? bias.data() : nullptr});
  std::vector<float> packed(static_cast<std::size_t>(sizes.packed_floats()));
  pack_weights(sizes, plain, packed.data(), lowering.threads());
  return lowering.weights().constant_floats(packed, {sizes.packed_floats()});
}

// Weights of one direction as a run reads them: packed before, or by the step itself.
struct RunWeights {
  Placement packed;
  std::optional<RecurrentWeightPlacements> changing = {};
};

RunWeights run_weights(Lowering& lowering, const Node& node, const RecurrentSizes& sizes,
                       std::int64_t direction) {
  if (has_constant_weights(lowering, node))
    return {packed_constants(lowering, node, sizes, direction)};
  return {workspace_floats(lowering, sizes.packed_floats()), weight_placements(lowering, node)};
}

// Weights of 16 bits stay so where memory counts, or where reading them from a cache takes longer
// than widening them.
std::optional<HalfFormat> packed_format(const Lowering& lowering, const Node& node,
                                        const RecurrentSizes& sizes) {
  constexpr std::int64_t kSmallMatrices = 8 << 10;  // numbers: they stay in the nearest cache
  if (!has_constant_weights(lowering, node)) return {};
  const bool has_to_fit = lowering.options().program.optimize_for == OptimizeFor::Memory;
  if (!has_to_fit && sizes.matrix_numbers() < kSmallMatrices) return {};
  const DataType type = lowering.type(node.inputs[2]);
  return lowering.type(node.inputs[1]) == type ? half_format(type) : std::nullopt;
}

RecurrentTrace add_direction(Lowering& lowering, NodeId id, const RecurrentLayer& layer,
                             std::int64_t index, const RecurrentOutputs& outputs) {
  const Node& node = lowering.node(id);
  RecurrentSizes sizes = layer.direction(index);
  sizes.weights = packed_format(lowering, node, sizes);
  const RecurrentPlacements places = place_direction(lowering, node, layer, index, outputs);
  const RunWeights weights = run_weights(lowering, node, sizes, index);
  StepDraft draft = draft_of(id, sizes, places);
  draft.precision = execute::precision_name(DataType::Float32);
  if (sizes.weights)
    draft.algorithm += " + " + execute::precision_name(lowering.type(node.inputs[2])) + " weights";
  if (weights.changing) {
    add_weights(*weights.changing, draft);
    draft.workspace.push_back(weights.packed.buffer);
  } else {
    draft.reads.push_back(weights.packed);
  }
  const int threads = lowering.threads();
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    float* packed = at.floats(weights.packed);
    const RecurrentBuffers buffers = places.buffers_at(at);
    if (!weights.changing) return [=] { run_recurrent(sizes, packed, buffers, threads); };
    const PlainWeights plain = weights_of(sizes, index, *weights.changing, at);
    return [=] {
      pack_weights(sizes, plain, packed, threads);
      run_recurrent(sizes, packed, buffers, threads);
    };
  });
  return places.trace;
}

// A gradient takes what the forward pass saved if it has all of the op's own inputs and attributes.
bool is_gradient_of(const Node& gradient, const Node& node, const RecurrentLayer& layer) {
  if (gradient.op != (layer.sizes.is_lstm() ? "LstmGradient" : "GruGradient")) return false;
  for (std::size_t i = 0; i < layer.own_inputs(); ++i) {
    if (gradient.has_input(i) != node.has_input(i)) return false;
    if (node.has_input(i) && gradient.inputs[i] != node.inputs[i]) return false;
  }
  return gradient.attributes == node.attributes;
}

NodeId gradient_of(const Lowering& lowering, const Node& node, const RecurrentLayer& layer) {
  for (const NodeId reader : lowering.readers(node.inputs[2])) {
    if (is_gradient_of(lowering.node(reader), node, layer)) return reader;
  }
  return {};
}

bool lower_recurrent(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  auto layer = usual_layer(lowering, node);
  if (!layer) return false;
  const NodeId gradient = gradient_of(lowering, node, *layer);
  layer->sizes.keeps_all_steps = gradient.is_valid();
  const auto traces = add_forward_steps(lowering, id, *layer, place_outputs(lowering, node));
  if (!gradient.is_valid()) return true;
  lowering.saved().save(gradient, traces);
  return true;
}

}  // namespace

RecurrentSizes RecurrentLayer::direction(std::int64_t index) const {
  RecurrentSizes direction = sizes;
  if (index == 1) direction.is_reverse = true;
  return direction;
}

std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node,
                                          std::size_t hidden_axis) {
  if (!has_usual_form(node) || !lowering.is_float(node.inputs[0])) return {};
  const Dims source = lowering.dims(node.inputs[0]);
  const Dims recurrent = lowering.dims(node.inputs[2]);
  if (source.size() != 3 || recurrent.size() != 3) return {};
  const std::string direction = node.string_or("direction", "forward");
  const bool is_gru = !is_lstm(node);
  RecurrentLayer layer{
      .sizes = {.steps = source[0],
                .batch = source[1],
                .inputs = source[2],
                .hidden = recurrent[hidden_axis],
                .gates = is_gru ? 3 : 4,
                .is_reverse = direction == "reverse",
                .linear_before_reset = is_gru && node.int_or("linear_before_reset", 0) != 0},
      .directions = direction == "bidirectional" ? 2 : 1};
  const bool is_empty = checked_product(source).value_or(0) == 0 || layer.sizes.hidden == 0;
  return is_empty ? std::nullopt : std::optional(layer);
}

std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node) {
  if (!has_float_inputs(lowering, node)) return {};
  return usual_layer(lowering, node, 2);
}

RecurrentOutputs place_outputs(Lowering& lowering, const Node& node) {
  RecurrentOutputs outputs;
  std::optional<Placement>* placements[] = {&outputs.all, &outputs.last_hidden, &outputs.last_cell};
  for (std::size_t i = 0; i < node.outputs.size() && i < 3; ++i) {
    if (!node.has_output(i)) continue;
    *placements[i] = lowering.new_row_major(node.outputs[i]);
    lowering.set_placement(node.outputs[i], **placements[i]);
  }
  return outputs;
}

RecurrentPlacements place_direction(Lowering& lowering, const Node& node,
                                    const RecurrentLayer& layer, std::int64_t index,
                                    const RecurrentOutputs& outputs) {
  const RecurrentSizes sizes = layer.direction(index);
  const std::int64_t state = sizes.batch * sizes.hidden;
  return {.source = lowering.row_major(node.inputs[0]),
          .hidden = given_placement(lowering, node, 5),
          .cell = sizes.is_lstm() ? given_placement(lowering, node, 6) : std::nullopt,
          .trace = {workspace_floats(lowering, sizes.rows() * sizes.gate_row()),
                    workspace_floats(lowering, sizes.hidden_places() * sizes.state_floats()),
                    workspace_floats(lowering, sizes.cell_places() * sizes.state_floats())},
          .outputs = outputs,
          .state_offset = index * state,
          .output_step = layer.directions * state};
}

RecurrentBuffers RecurrentPlacements::buffers_at(const Addresses& at) const {
  return {.source = at.floats(source),
          .initial_hidden = part_at(at, hidden, state_offset),
          .initial_cell = part_at(at, cell, state_offset),
          .gates = at.floats(trace.gates),
          .hidden = at.floats(trace.hidden),
          .cell = at.floats(trace.cell),
          .output = part_at(at, outputs.all, state_offset),
          .output_step = output_step,
          .last_hidden = part_at(at, outputs.last_hidden, state_offset),
          .last_cell = part_at(at, outputs.last_cell, state_offset)};
}

StepDraft draft_of(NodeId id, const RecurrentSizes& sizes, const RecurrentPlacements& places) {
  const std::int64_t macs = sizes.gate_row() * (sizes.inputs + sizes.hidden);
  StepDraft draft{.nodes = {id},
                  .algorithm = "panels",
                  .executed_flops = saturating_multiply(2 * sizes.rows(), macs),
                  .reads = {places.source}};
  for (const auto& placement : {places.hidden, places.cell}) {
    if (placement) draft.reads.push_back(*placement);
  }
  for (const Placement& placement : {places.trace.gates, places.trace.hidden, places.trace.cell}) {
    if (sizes.keeps_all_steps) draft.writes.push_back(placement);
    if (!sizes.keeps_all_steps) draft.workspace.push_back(placement.buffer);
  }
  const RecurrentOutputs& outputs = places.outputs;
  for (const auto& placement : {outputs.all, outputs.last_hidden, outputs.last_cell}) {
    if (placement) draft.writes.push_back(*placement);
  }
  return draft;
}

RecurrentTraces add_forward_steps(Lowering& lowering, NodeId id, const RecurrentLayer& layer,
                                  const RecurrentOutputs& outputs) {
  RecurrentTraces traces;
  for (std::int64_t index = 0; index < layer.directions; ++index) {
    traces.push_back(add_direction(lowering, id, layer, index, outputs));
  }
  return traces;
}

Placement workspace_floats(Lowering& lowering, std::int64_t count) {
  return row_major_placement(lowering.new_buffer(count * 4), DataType::Float32, {count});
}

std::optional<Placement> given_placement(Lowering& lowering, const Node& node, std::size_t input) {
  if (!node.has_input(input)) return {};
  return lowering.row_major(node.inputs[input]);
}

float* part_at(const Addresses& at, const std::optional<Placement>& placement,
               std::int64_t offset) {
  return placement ? at.floats(*placement) + offset : nullptr;
}

RecurrentWeightPlacements weight_placements(Lowering& lowering, const Node& node) {
  const auto floats = [&](std::size_t input) {
    return lowering.row_major_as(node.inputs[input], DataType::Float32);
  };
  RecurrentWeightPlacements placements{floats(1), floats(2)};
  if (node.has_input(3)) placements.bias = floats(3);
  return placements;
}

void add_weights(const RecurrentWeightPlacements& placements, StepDraft& draft) {
  draft.reads.push_back(placements.input);
  draft.reads.push_back(placements.recurrent);
  if (placements.bias) draft.reads.push_back(*placements.bias);
}

PlainWeights weights_of(const RecurrentSizes& sizes, std::int64_t direction,
                        const RecurrentWeightPlacements& placements, const Addresses& at) {
  return direction_of(sizes, direction,
                      {at.floats(placements.input), at.floats(placements.recurrent),
                       part_at(at, placements.bias, 0)});
}

void add_recurrent_lowering(LowerTable& table) {
  table["LSTM"] = lower_recurrent;
  table["GRU"] = lower_recurrent;
}

}  // namespace assay::cpu
