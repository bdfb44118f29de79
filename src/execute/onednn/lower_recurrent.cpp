// LSTM and GRU in their usual form: default activations, no peepholes, no clipping, sequences of
// equal length.
#include "base/checked.h"
#include "execute/onednn/recurrent.h"
#include "execute/onednn/steps.h"

namespace assay::onednn {

namespace {

bool is_usual(const Lowering& lowering, const Node& node) {
  const bool is_lstm = node.op == "LSTM";
  if (node.find("activations") != nullptr) {
    const auto* given = node.get<std::vector<std::string>>("activations");
    const std::vector<std::string> usual = is_lstm
                                               ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                               : std::vector<std::string>{"Sigmoid", "Tanh"};
    for (std::size_t i = 0; i < given->size(); ++i) {
      if ((*given)[i] != usual[i % usual.size()]) return false;
    }
  }
  for (const char* attribute : {"activation_alpha", "activation_beta", "clip"}) {
    if (node.find(attribute) != nullptr) return false;
  }
  if (node.int_or("input_forget", 0) != 0 || node.int_or("layout", 0) != 0) return false;
  if (node.has_input(4) || (is_lstm && node.has_input(7))) return false;
  for (const std::size_t input : {1u, 2u, 3u}) {
    if (!node.has_input(input)) continue;
    const Tensor* weight = lowering.constant(node.inputs[input]);
    if (weight == nullptr || weight->type() != DataType::Float32) return false;
  }
  return node.has_input(1) && node.has_input(2);
}

struct Direction {
  RecurrentSizes sizes;
  Place input_weights;
  Place recurrent_weights;
  Place input_bias;
  Place recurrent_bias;
};

Direction direction_of(Lowering& lowering, const Node& node, RecurrentSizes sizes,
                       std::int64_t index, bool is_reverse) {
  sizes.is_reverse = is_reverse;
  const auto input = lowering.constant(node.inputs[1])->to_vector<float>();
  const auto recurrent = lowering.constant(node.inputs[2])->to_vector<float>();
  const auto bias = node.has_input(3) ? lowering.constant(node.inputs[3])->to_vector<float>()
                                      : std::vector<float>();
  const std::int64_t rows = sizes.gates * sizes.hidden;
  const RecurrentWeights packed =
      packed_weights(sizes, input.data() + index * rows * sizes.inputs,
                     recurrent.data() + index * rows * sizes.hidden,
                     bias.empty() ? nullptr : bias.data() + index * 2 * rows);
  return {sizes, lowering.constant_floats(packed.input, {sizes.gate_row(), sizes.inputs}),
          lowering.constant_floats(packed.recurrent, {sizes.gate_row(), sizes.hidden}),
          lowering.constant_floats(packed.input_bias, {sizes.gate_row()}),
          lowering.constant_floats(packed.recurrent_bias, {sizes.gate_row()})};
}

std::optional<RecurrentSizes> sizes_of(const Lowering& lowering, const Node& node) {
  const Dims source = lowering.dims(node.inputs[0]);
  const Dims recurrent = lowering.constant(node.inputs[2])->dims();
  if (source.size() != 3 || recurrent.size() != 3) return {};
  RecurrentSizes sizes{.steps = source[0],
                       .batch = source[1],
                       .inputs = source[2],
                       .hidden = recurrent[2],
                       .gates = node.op == "LSTM" ? 4 : 3,
                       .linear_before_reset = node.int_or("linear_before_reset", 0) != 0};
  const bool is_empty =
      sizes.steps == 0 || sizes.batch == 0 || sizes.inputs == 0 || sizes.hidden == 0;
  return is_empty ? std::nullopt : std::optional(sizes);
}

// Outputs and scratch that all directions share.
struct Outputs {
  std::optional<Place> all;
  std::optional<Place> last_hidden;
  std::optional<Place> last_cell;
};

Outputs place_outputs(Lowering& lowering, const Node& node) {
  Outputs outputs;
  std::optional<Place>* places[] = {&outputs.all, &outputs.last_hidden, &outputs.last_cell};
  for (std::size_t i = 0; i < node.outputs.size() && i < 3; ++i) {
    if (!node.has_output(i)) continue;
    *places[i] = lowering.new_row_major(node.outputs[i]);
    lowering.set_place(node.outputs[i], **places[i]);
  }
  return outputs;
}

Place scratch_floats(Lowering& lowering, std::int64_t count) {
  return row_major_place(lowering.new_buffer(count * 4), DataType::Float32, {count});
}

std::int64_t flops_of(const RecurrentSizes& sizes) {
  const std::int64_t macs = sizes.gate_row() * (sizes.inputs + sizes.hidden);
  return saturating_multiply(2 * sizes.steps * sizes.batch, macs);
}

void add_direction(Lowering& lowering, NodeId id, const Direction& direction, std::int64_t index,
                   std::int64_t directions, const Outputs& outputs) {
  const Node& node = lowering.node(id);
  const RecurrentSizes sizes = direction.sizes;
  const Place source = lowering.row_major(node.inputs[0]);
  const auto initial = [&](std::size_t input) -> std::optional<Place> {
    if (!node.has_input(input)) return {};
    return lowering.row_major(node.inputs[input]);
  };
  const auto hidden = initial(5);
  const auto cell = sizes.gates == 4 ? initial(6) : std::nullopt;
  const Place gates = scratch_floats(lowering, sizes.steps * sizes.batch * sizes.gate_row());
  const Place states = scratch_floats(lowering, 2 * sizes.batch * sizes.padded());
  const Place cells = scratch_floats(lowering, sizes.batch * sizes.padded());
  StepDraft draft{.nodes = {id},
                  .algorithm = "panels",
                  .executed_flops = flops_of(sizes),
                  .reads = {source, direction.input_weights, direction.recurrent_weights,
                            direction.input_bias, direction.recurrent_bias},
                  .writes = {},
                  .scratch = {gates.buffer, states.buffer, cells.buffer}};
  for (const auto& place : {hidden, cell}) {
    if (place) draft.reads.push_back(*place);
  }
  for (const auto& place : {outputs.all, outputs.last_hidden, outputs.last_cell}) {
    if (place) draft.writes.push_back(*place);
  }
  const int threads = lowering.threads();
  const std::int64_t state = sizes.batch * sizes.hidden;
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const auto optional_floats = [&](const std::optional<Place>& place, std::int64_t offset) {
      return place ? at.floats(*place) + offset : nullptr;
    };
    const RecurrentBuffers buffers{
        .source = at.floats(source),
        .input_weights = at.floats(direction.input_weights),
        .recurrent_weights = at.floats(direction.recurrent_weights),
        .input_bias = at.floats(direction.input_bias),
        .recurrent_bias = at.floats(direction.recurrent_bias),
        .initial_hidden = optional_floats(hidden, index * state),
        .initial_cell = optional_floats(cell, index * state),
        .gates = at.floats(gates),
        .hidden = at.floats(states),
        .cell = at.floats(cells),
        .output = optional_floats(outputs.all, index * state),
        .output_step = directions * state,
        .last_hidden = optional_floats(outputs.last_hidden, index * state),
        .last_cell = optional_floats(outputs.last_cell, index * state)};
    return [=] { run_recurrent(sizes, buffers, threads); };
  });
}

bool lower_recurrent(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || !is_usual(lowering, node)) return false;
  const auto sizes = sizes_of(lowering, node);
  if (!sizes) return false;
  const std::string direction = node.string_or("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const Outputs outputs = place_outputs(lowering, node);
  for (std::int64_t index = 0; index < directions; ++index) {
    const bool is_reverse = direction == "reverse" || index == 1;
    add_direction(lowering, id, direction_of(lowering, node, *sizes, index, is_reverse), index,
                  directions, outputs);
  }
  return true;
}

}  // namespace

void add_recurrent_lowering(LowerTable& table) {
  table["LSTM"] = lower_recurrent;
  table["GRU"] = lower_recurrent;
}

}  // namespace assay::onednn
