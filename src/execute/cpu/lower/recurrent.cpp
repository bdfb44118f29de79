// LSTM, GRU and RNN. Weights that do not change are packed once, others in every run.
#include "execute/cpu/lower/recurrent.h"

#include <algorithm>
#include <cctype>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "kernels/named_activation.h"
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

std::int64_t gates_of(const Node& node) {
  if (is_lstm(node)) return 4;
  return node.op == "RNN" ? 1 : 3;
}

// Functions of one direction.
std::size_t function_count(std::int64_t gates) {
  return gates == 4 ? 3 : gates == 3 ? 2 : 1;
}

using kernels::ActivationParameters;

// The function of that name, in letters of either case; nothing where it has no fast form.
std::optional<GateFunction> gate_function(std::string name, ActivationParameters& alphas,
                                          ActivationParameters& betas) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const auto next = [](ActivationParameters& numbers, double otherwise) {
    return static_cast<float>(numbers.next_or(otherwise));
  };
  if (name == "relu") return GateFunction{UnaryOp::Relu};
  if (name == "tanh") return GateFunction{UnaryOp::Tanh};
  if (name == "sigmoid") return GateFunction{UnaryOp::Sigmoid};
  if (name == "softsign") return GateFunction{UnaryOp::Softsign};
  if (name == "softplus") return GateFunction{UnaryOp::Softplus};
  if (name == "leakyrelu") return GateFunction{UnaryOp::LeakyRelu, next(alphas, 0.01)};
  if (name == "elu") return GateFunction{UnaryOp::Elu, next(alphas, 1)};
  if (name == "affine") return GateFunction{UnaryOp::Affine, next(alphas, 1), next(betas, 0)};
  if (name == "hardsigmoid")
    return GateFunction{UnaryOp::HardSigmoid, next(alphas, 0.2), next(betas, 0.5)};
  return {};
}

std::vector<std::string> default_functions(std::int64_t gates) {
  if (gates == 1) return {"Tanh"};
  return gates == 3 ? std::vector<std::string>{"Sigmoid", "Tanh"}
                    : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
}

std::vector<std::string> function_names(const Node& node, std::int64_t gates,
                                        std::int64_t directions) {
  const auto* given = node.get<std::vector<std::string>>("activations");
  if (given != nullptr && !given->empty()) return *given;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < directions; ++i) {
    const auto own = default_functions(gates);
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

std::span<const float> floats_in(const Node& node, const char* attribute) {
  const auto* numbers = node.get<std::vector<float>>(attribute);
  return numbers == nullptr ? std::span<const float>() : std::span<const float>(*numbers);
}

bool is_same_function(const GateFunction& a, const GateFunction& b) {
  return a.op == b.op && a.alpha == b.alpha && a.beta == b.beta;
}

// One form for each direction; nothing where one has no fast form.
std::optional<std::vector<RecurrentForm>> forms_of(const Node& node, std::int64_t gates,
                                                   std::int64_t directions) {
  const auto names = function_names(node, gates, directions);
  const std::size_t each = function_count(gates);
  if (names.size() != each * static_cast<std::size_t>(directions)) return {};
  ActivationParameters alphas(floats_in(node, "activation_alpha"));
  ActivationParameters betas(floats_in(node, "activation_beta"));
  std::vector<RecurrentForm> forms;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto function = gate_function(names[i], alphas, betas);
    if (!function) return {};
    if (i % each == 0) forms.emplace_back();
    RecurrentForm& form = forms.back();
    const GateFunction usual = form.functions[i % each];
    form.functions[i % each] = *function;
    form.has_usual_functions = form.has_usual_functions && is_same_function(usual, *function);
  }
  for (RecurrentForm& form : forms) {
    form.clip = node.float_or("clip", 0);
    form.has_usual_functions = form.has_usual_functions && !(form.clip > 0);
    form.couples_forget = gates == 4 && node.int_or("input_forget", 0) != 0;
    form.has_peepholes = gates == 4 && node.has_input(7);
    form.has_lengths = node.has_input(4);
  }
  return forms;
}

// Matrices of weights that do not change may have 16 bits.
bool is_half_matrix(const Lowering& lowering, const Node& node, std::size_t input) {
  return (input == 1 || input == 2) && lowering.constant(node.inputs[input]) != nullptr &&
         lowering.is_real(node.inputs[input]);
}

bool has_float_inputs(const Lowering& lowering, const Node& node) {
  constexpr std::size_t kLengths = 4;
  for (std::size_t input = 0; input < node.inputs.size(); ++input) {
    if (input == kLengths || !node.has_input(input)) continue;
    if (!lowering.is_float(node.inputs[input]) && !is_half_matrix(lowering, node, input))
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

void check_lengths(const RecurrentSizes& sizes, const RecurrentBuffers& buffers,
                   const std::string& what) {
  for (std::int64_t row = 0; buffers.lengths != nullptr && row < sizes.batch; ++row) {
    if (buffers.lengths[row] < 0 || buffers.lengths[row] > sizes.steps)
      fail_bad_input("{}: sequence_lens does not hold {} lengths up to {}", what, sizes.batch,
                     sizes.steps);
  }
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
  const std::string what = fmt::format("{} '{}'", node.op, lowering.graph().display_name(id));
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    float* packed = at.floats(weights.packed);
    const RecurrentBuffers buffers = places.buffers_at(at);
    if (!weights.changing)
      return [=] {
        check_lengths(sizes, buffers, what);
        run_recurrent(sizes, packed, buffers, threads);
      };
    const PlainWeights plain = weights_of(sizes, index, *weights.changing, at);
    return [=] {
      check_lengths(sizes, buffers, what);
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

// Time comes first, batch second.
std::optional<RecurrentLayer> layer_of(const Lowering& lowering, const Node& node,
                                       std::size_t hidden_axis) {
  if (node.int_or("layout", 0) != 0) return {};
  if (!node.has_input(0) || !node.has_input(1) || !node.has_input(2)) return {};
  if (!lowering.is_float(node.inputs[0])) return {};
  const Dims source = lowering.dims(node.inputs[0]);
  const Dims recurrent = lowering.dims(node.inputs[2]);
  if (source.size() != 3 || recurrent.size() != 3) return {};
  const std::string direction = node.string_or("direction", "forward");
  const std::int64_t gates = gates_of(node);
  RecurrentLayer layer{
      .sizes = {.steps = source[0],
                .batch = source[1],
                .inputs = source[2],
                .hidden = recurrent[hidden_axis],
                .gates = gates,
                .is_reverse = direction == "reverse",
                .linear_before_reset = gates == 3 && node.int_or("linear_before_reset", 0) != 0},
      .directions = direction == "bidirectional" ? 2 : 1};
  const bool is_empty = checked_product(source).value_or(0) == 0 || layer.sizes.hidden == 0;
  return is_empty ? std::nullopt : std::optional(layer);
}

bool has_usable_lengths(const Lowering& lowering, const Node& node, const RecurrentSizes& sizes) {
  if (!node.has_input(4)) return true;
  return lowering.type(node.inputs[4]) == DataType::Int32 &&
         checked_product(lowering.dims(node.inputs[4])).value_or(0) == sizes.batch;
}

std::optional<RecurrentLayer> fast_layer(const Lowering& lowering, const Node& node) {
  if (!has_float_inputs(lowering, node)) return {};
  auto layer = layer_of(lowering, node, 2);
  if (!layer || !has_usable_lengths(lowering, node, layer->sizes)) return {};
  const auto forms = forms_of(node, layer->sizes.gates, layer->directions);
  if (!forms) return {};
  layer->sizes.form = forms->front();
  layer->second = forms->back();
  return layer;
}

bool lower_recurrent(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  auto layer = fast_layer(lowering, node);
  if (!layer) return false;
  const NodeId gradient = has_usual_form(node) ? gradient_of(lowering, node, *layer) : NodeId{};
  layer->sizes.keeps_all_steps = gradient.is_valid();
  const auto traces = add_forward_steps(lowering, id, *layer, place_outputs(lowering, node));
  if (!gradient.is_valid()) return true;
  lowering.saved().save(gradient, traces);
  return true;
}

}  // namespace

RecurrentSizes RecurrentLayer::direction(std::int64_t index) const {
  RecurrentSizes direction = sizes;
  if (index == 1) {
    direction.is_reverse = true;
    direction.form = second;
  }
  return direction;
}

std::optional<RecurrentLayer> usual_layer(const Lowering& lowering, const Node& node,
                                          std::size_t hidden_axis) {
  return has_usual_form(node) ? layer_of(lowering, node, hidden_axis) : std::nullopt;
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
          .peepholes = sizes.form.has_peepholes ? given_placement(lowering, node, 7) : std::nullopt,
          .lengths = sizes.form.has_lengths ? given_placement(lowering, node, 4) : std::nullopt,
          .trace = {workspace_floats(lowering, sizes.rows() * sizes.gate_row()),
                    workspace_floats(lowering, sizes.hidden_places() * sizes.state_floats()),
                    workspace_floats(lowering, sizes.cell_places() * sizes.state_floats())},
          .outputs = outputs,
          .state_offset = index * state,
          .output_step = layer.directions * state,
          .peephole_offset = index * 3 * sizes.hidden};
}

RecurrentBuffers RecurrentPlacements::buffers_at(const Addresses& at) const {
  return {.source = at.floats(source),
          .initial_hidden = part_at(at, hidden, state_offset),
          .initial_cell = part_at(at, cell, state_offset),
          .peepholes = part_at(at, peepholes, peephole_offset),
          .lengths = lengths ? reinterpret_cast<const std::int32_t*>(at.bytes(*lengths)) : nullptr,
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
  for (const auto& placement : {places.hidden, places.cell, places.peepholes, places.lengths}) {
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
  table["RNN"] = lower_recurrent;
}

}  // namespace assay::cpu
