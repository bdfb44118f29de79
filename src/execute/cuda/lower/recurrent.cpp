// RNN, GRU and LSTM: what gates get from the inputs is one product over all steps; then a kernel,
// or two, for each step, in which a warp computes one unit of some samples.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "execute/cuda/activation_text.h"
#include "execute/cuda/chain.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr unsigned kWarps = 8;  // of a block

struct RecurrentView {
  std::string op;
  std::int64_t gates = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t hidden = 0;
  std::int64_t features = 0;
  std::int64_t directions = 1;
  bool is_reverse = false;
  Placement input;                  // steps, batch, features
  Placement weight;                 // directions, gates · hidden, features
  Placement recurrence;             // directions, gates · hidden, hidden
  std::optional<Placement> result;  // steps, directions, batch, hidden
  std::optional<Placement> last;    // directions, batch, hidden
  std::optional<Placement> last_cell;
  std::string type;  // it computes in

  std::int64_t rows() const { return gates * hidden; }
  // Of a warp, which so reads a row of weights once for all of them.
  std::int64_t samples() const { return std::min<std::int64_t>(batch, 4); }
  bool has_cell() const { return op == "LSTM"; }
};

void swap_axes(Placement& placement, std::size_t a, std::size_t b) {
  std::swap(placement.dims[a], placement.dims[b]);
  std::swap(placement.strides[a], placement.strides[b]);
}

std::optional<RecurrentView> recurrent_view_of(Lowering& lowering, const Node& node) {
  RecurrentView view;
  view.op = node.op;
  view.gates = node.is("LSTM") ? 4 : node.is("GRU") ? 3 : 1;
  const bool is_batch_first = node.int_or("layout", 0) != 0;
  const std::string direction = node.string_or("direction", "forward");
  view.is_reverse = direction == "reverse";
  view.directions = direction == "bidirectional" ? 2 : 1;
  view.input = lowering.native(node.inputs[0]);
  view.weight = lowering.native(node.inputs[1]);
  view.recurrence = lowering.native(node.inputs[2]);
  for (const Placement* operand : {&view.input, &view.weight, &view.recurrence})
    if (operand->dims.size() != 3 || operand->elements() == 0 || !is_floating(operand->type))
      return {};
  if (is_batch_first) swap_axes(view.input, 0, 1);
  view.steps = view.input.dims[0];
  view.batch = view.input.dims[1];
  view.features = view.input.dims[2];
  view.hidden = view.recurrence.dims[2];
  view.type = computed_type(view.input.type);
  const bool fits = view.weight.dims == Dims{view.directions, view.rows(), view.features} &&
                    view.recurrence.dims == Dims{view.directions, view.rows(), view.hidden};
  if (!fits) return {};
  const auto state = [&](std::size_t output) -> std::optional<Placement> {
    if (!node.has_output(output)) return {};
    Placement placement = lowering.new_row_major(node.outputs[output]);
    lowering.set_placement(node.outputs[output], placement);
    if (is_batch_first) swap_axes(placement, 0, 1);
    return placement;
  };
  if (node.has_output(0)) {
    Placement result = lowering.new_row_major(node.outputs[0]);
    lowering.set_placement(node.outputs[0], result);
    if (is_batch_first) {  // batch, steps, directions, hidden
      swap_axes(result, 0, 1);
      swap_axes(result, 1, 2);
    }
    view.result = result;
  }
  view.last = state(1);
  if (view.has_cell()) view.last_cell = state(2);
  return view;
}

// Writes the texts and the calls of one recurrent node.
class RecurrentWriter {
 public:
  RecurrentWriter(Lowering& lowering, NodeId id, const RecurrentView& view,
                  std::vector<ActivationText> activations)
      : lowering_(lowering),
        id_(id),
        node_(lowering.node(id)),
        view_(view),
        activations_(std::move(activations)) {
    const DataType type = view.type == "double" ? DataType::Float64 : DataType::Float32;
    const auto buffer = [&](Dims dims) {
      return lowering.in_new_buffer(row_major_placement(type, std::move(dims)));
    };
    const Dims states = {view.directions, view.batch, view.hidden};
    sums_ = buffer({view.directions, view.steps * view.batch, view.rows()});
    states_ = {buffer(states), buffer(states)};
    cell_ = buffer(states);
    if (resets_before()) reset_ = buffer(states);
  }

  void add() {
    calls_.push_back(input_product());
    const std::vector<KernelId> kernels = step_kernels();
    for (std::int64_t step = 0; step < view_.steps; ++step)
      for (const KernelId kernel : kernels) calls_.push_back(step_call(kernel, step));
    StepDraft draft{.nodes = {id_}, .algorithm = "own steps", .executed_flops = flops()};
    for (const ValueId input : node_.inputs)
      if (input.is_valid()) draft.reads.push_back(lowering_.native(input));
    for (const auto* written : {&view_.result, &view_.last, &view_.last_cell})
      if (*written) draft.writes.push_back(**written);
    for (const Placement& own : {sums_, states_[0], states_[1], cell_, reset_})
      if (own.buffer.is_valid()) draft.workspace.push_back(own.buffer);
    lowering_.add_step(draft, binder_of(calls_));
  }

 private:
  bool resets_before() const {
    return view_.op == "GRU" && node_.int_or("linear_before_reset", 0) == 0;
  }

  std::int64_t flops() const {
    return 2 * view_.directions * view_.steps * view_.batch * view_.rows() *
           (view_.features + view_.hidden);
  }

  // W · x of all steps, and the biases that are added to it.
  KernelCall input_product() {
    Operands operands(lowering_);
    const std::vector<std::string> at_input = {fmt::format("row / {}", view_.batch),
                                               fmt::format("row % {}", view_.batch), "k"};
    const std::string input = operands.element(view_.input, at_input);
    const std::string weight =
        operands.element(view_.weight, std::vector<std::string>{"z", "column", "k"});
    std::string sum = "sum";
    if (node_.has_input(3)) {
      const Placement bias = lowering_.native(node_.inputs[3]);
      sum += " + " + operands.element(bias, std::vector<std::string>{"z", "column"});
    }
    const std::string store =
        fmt::format("  out[{}] = {};\n",
                    offset_text(sums_, std::vector<std::string>{"z", "row", "column"}), sum);
    const KernelText kernel =
        tiled_kernel({.batches = view_.directions,
                      .rows = view_.steps * view_.batch,
                      .columns = view_.rows(),
                      .depth = view_.features,
                      .sum_type = view_.type,
                      .parameters = operands.parameters() + view_.type + "* __restrict__ out",
                      .load_a = fmt::format("    return {};\n", input),
                      .load_b = fmt::format("    return {};\n", weight),
                      .store = store});
    KernelCall call{lowering_.kernels().add(kernel.text, true), kernel.shape, operands.reads()};
    call.arguments.push_back(sums_);
    return call;
  }

  // What the kernels of a step are given: the same for all, so that they share their arguments.
  struct Given {
    std::string before = "";      // its own state before the first step, or 0
    std::string before_all = "";  // element k of the state before the first step
    std::string cell = "";
    std::string length = "";
    std::array<std::string, 4> bias;      // of the recurrence, by gate
    std::array<std::string, 3> peephole;  // a factor, or empty
  };

  Given given(Operands& operands) {
    const std::vector<std::string> state = {"d", "b", "u"};
    Given texts;
    operands.pointer(view_.recurrence);
    const auto first = [&](std::size_t input, const char* unit) -> std::string {
      if (!node_.has_input(input)) return "0";
      Placement placement = lowering_.native(node_.inputs[input]);
      if (node_.int_or("layout", 0) != 0) swap_axes(placement, 0, 1);
      return operands.element(placement, std::vector<std::string>{"d", "b", unit});
    };
    texts.before = first(5, "u");
    texts.before_all = first(5, "k");
    texts.cell = view_.has_cell() ? first(6, "u") : "0";
    texts.length = fmt::format("{}", view_.steps);
    if (node_.has_input(4))
      texts.length = "(int)" + operands.element(lowering_.native(node_.inputs[4]),
                                                std::vector<std::string>{"b"});
    for (std::int64_t gate = 0; gate < view_.gates; ++gate) {
      texts.bias[gate] = "0";
      if (node_.has_input(3))
        texts.bias[gate] =
            operands.element(lowering_.native(node_.inputs[3]),
                             std::vector<std::string>{
                                 "d", fmt::format("{} + u", view_.rows() + gate * view_.hidden)});
    }
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      if (view_.has_cell() && node_.has_input(7))
        texts.peephole[gate] = operands.element(
            lowering_.native(node_.inputs[7]),
            std::vector<std::string>{"d", fmt::format("{} + u", gate * view_.hidden)});
    }
    return texts;
  }

  std::string activated(std::size_t function, std::size_t functions, const std::string& x) const {
    std::string bounded = x;
    const float clip = node_.float_or("clip", 0);
    if (clip > 0)
      bounded = fmt::format("limited(({0})({1}), {2}, {3})", view_.type, x,
                            number_text(-clip, view_.type), number_text(clip, view_.type));
    const std::string forward = activations_[function].of(bounded, view_.type);
    if (view_.directions == 1) return forward;
    return fmt::format("(d == 0 ? {} : {})", forward,
                       activations_[functions + function].of(bounded, view_.type));
  }

  // What gate `gate` gets from the input and, as recurrent[slot], from the state.
  std::string preactivation(const Given& texts, std::int64_t gate, std::size_t slot) const {
    return fmt::format("{} + recurrent[{}] + {}", from_input(gate), slot, texts.bias[gate]);
  }
  std::string from_input(std::int64_t gate) const {
    return fmt::format(
        "sums[{}]",
        offset_text(sums_, std::vector<std::string>{"d", fmt::format("t * {} + b", view_.batch),
                                                    fmt::format("{} + u", gate * view_.hidden)}));
  }
  std::string own(const char* name) const {
    return fmt::format("{}[(d * {} + b) * {} + u]", name, view_.batch, view_.hidden);
  }

  std::string rnn_text(const Given& texts) const {
    return fmt::format("      next = {};\n", activated(0, 1, preactivation(texts, 0, 0)));
  }

  std::string lstm_text(const Given& texts) const {
    const auto gate = [&](std::int64_t which, std::size_t peephole, const char* cell) {
      std::string sum = preactivation(texts, which, which);
      if (!texts.peephole[peephole].empty())
        sum += fmt::format(" + {} * {}", texts.peephole[peephole], cell);
      return activated(0, 3, sum);
    };
    const bool is_coupled = node_.int_or("input_forget", 0) != 0;
    return fmt::format(
        R"(      const {type} old = step == 0 ? {first} : {cell};
      const {type} input = {input};
      const {type} forget = {forget};
      const {type} candidate = {candidate};
      const {type} fresh = forget * old + input * candidate;
      const {type} output = {output};
      if (step < length) next = output * {squashed};
      cell_next = step < length ? fresh : old;
      {cell} = cell_next;
)",
        fmt::arg("type", view_.type), fmt::arg("first", texts.cell), fmt::arg("cell", own("cell")),
        fmt::arg("input", gate(0, 0, "old")),
        fmt::arg("forget", is_coupled ? std::string("1 - input") : gate(2, 2, "old")),
        fmt::arg("candidate", activated(1, 3, preactivation(texts, 3, 3))),
        fmt::arg("output", gate(1, 1, "fresh")), fmt::arg("squashed", activated(2, 3, "fresh")));
  }

  // Update and reset gate, before the reset state is multiplied.
  std::string gru_gates_text(const Given& texts) const {
    return fmt::format("      {} = {};\n      {} = {} * before;\n", own("cell"),
                       activated(0, 2, preactivation(texts, 0, 0)), own("reset"),
                       activated(0, 2, preactivation(texts, 1, 1)));
  }

  std::string gru_text(const Given& texts) const {
    const bool is_first = resets_before();
    const std::string update = is_first ? own("cell") : activated(0, 2, preactivation(texts, 0, 0));
    const std::string hidden =
        is_first ? preactivation(texts, 2, 0)
                 : fmt::format("{} + {} * (recurrent[2] + {})", from_input(2),
                               activated(0, 2, preactivation(texts, 1, 1)), texts.bias[2]);
    return fmt::format(
        "      const {0} update = {1};\n      next = (1 - update) * {2} + update * before;\n",
        view_.type, update, activated(1, 2, hidden));
  }

  std::vector<KernelId> step_kernels() {
    if (view_.op == "RNN") return {step_kernel({0}, "before", &RecurrentWriter::rnn_text, true)};
    if (view_.op == "LSTM")
      return {step_kernel({0, 1, 2, 3}, "before", &RecurrentWriter::lstm_text, true)};
    if (!resets_before())
      return {step_kernel({0, 1, 2}, "before", &RecurrentWriter::gru_text, true)};
    return {step_kernel({0, 1}, "before", &RecurrentWriter::gru_gates_text, false),
            step_kernel({2}, "reset", &RecurrentWriter::gru_text, true)};
  }

  // `cell` computes `next` from recurrent[], the products of these gates' rows with the state, or
  // with what is `multiplied` instead.
  KernelId step_kernel(const std::vector<std::int64_t>& gates, const std::string& multiplied,
                       std::string (RecurrentWriter::*cell)(const Given&) const, bool stores) {
    Operands operands(lowering_);
    const Given texts = given(operands);
    std::string products;
    for (std::size_t slot = 0; slot < gates.size(); ++slot)
      products += fmt::format(
          "      const {0} r{1} = {2};\n      for (int s = 0; s < {3}; ++s) all[{1}][s] += r{1} * "
          "state[s];\n",
          view_.type, slot,
          operands.element(view_.recurrence,
                           std::vector<std::string>{
                               "d", fmt::format("{} + u", gates[slot] * view_.hidden), "k"}),
          view_.samples());
    const std::string all = fmt::format("[(d * {} + b) * {} + k]", view_.batch, view_.hidden);
    const auto state_before = [&](const std::string& first, const std::string& later) {
      return fmt::format("(step == 0 ? ({0})({1}) : {2})", view_.type, first, later);
    };
    const std::string before = state_before(texts.before, own("state_before"));
    const std::string before_all = state_before(texts.before_all, "state_before" + all);
    const std::string text = fmt::format(
        R"(
extern "C" __global__ void KERNEL({parameters}const {type}* __restrict__ sums, const {type}* __restrict__ state_before,
    {type}* __restrict__ state_after, {type}* __restrict__ cell, {type}* __restrict__ reset{outputs}, long long step) {{
  const int lane = threadIdx.x % 32;
  const long long unit = blockIdx.x * {warps}ll + threadIdx.x / 32;
  const int d = (int)(unit / {hidden}), u = (int)(unit % {hidden});
  const int first = blockIdx.y * {samples};
  {type} all[{gates}][{samples}] = {{}};
  if (unit < {units}) {{
    for (int k = lane; k < {hidden}; k += 32) {{
      {type} state[{samples}];
      for (int s = 0; s < {samples}; ++s) {{
        const int b = first + s < {batch} ? first + s : {last_sample};
        state[s] = {multiplied};
      }}
{products}    }}
  }}
  for (int g = 0; g < {gates}; ++g)
    for (int s = 0; s < {samples}; ++s)
      for (int mask = 16; mask > 0; mask /= 2) all[g][s] += __shfl_xor_sync(0xffffffffu, all[g][s], mask);
  if (unit >= {units}) return;
  for (int s = 0; s < {samples}; ++s) {{
    const int b = first + s;
    if (lane != s || b >= {batch}) continue;
    {type} recurrent[{gates}];
    for (int g = 0; g < {gates}; ++g) recurrent[g] = all[g][s];
    const int length = {length};
    const {type} before = {before};
    const long long t = {reversed} && step < length ? length - 1 - step : step;
    {type} next = before, cell_next = 0;
    {condition}{{
{cell}    }}
{store}  }}
}}
)",
        fmt::arg("parameters", operands.parameters()), fmt::arg("type", view_.type),
        fmt::arg("outputs", output_parameters()), fmt::arg("warps", kWarps),
        fmt::arg("hidden", view_.hidden), fmt::arg("samples", view_.samples()),
        fmt::arg("gates", gates.size()), fmt::arg("units", view_.directions * view_.hidden),
        fmt::arg("batch", view_.batch), fmt::arg("last_sample", view_.batch - 1),
        fmt::arg("multiplied", multiplied == "before" ? before_all : "reset" + all),
        fmt::arg("products", products), fmt::arg("length", texts.length),
        fmt::arg("before", before), fmt::arg("reversed", reversed_text()),
        fmt::arg("condition", view_.has_cell() ? "" : "if (step < length) "),
        fmt::arg("cell", (this->*cell)(texts)), fmt::arg("store", stores ? store_text() : ""));
    reads_ = operands.reads();
    return lowering_.kernels().add(text, true);
  }

  std::string reversed_text() const {
    return view_.directions == 2 ? "d == 1" : view_.is_reverse ? "true" : "false";
  }

  std::string output_parameters() const {
    std::string list;
    const std::pair<const std::optional<Placement>*, const char*> outputs[] = {
        {&view_.result, "result"}, {&view_.last, "last"}, {&view_.last_cell, "last_cell"}};
    for (const auto& [placement, name] : outputs)
      if (*placement)
        list += fmt::format(", {}* __restrict__ {}", stored_type((*placement)->type), name);
    return list;
  }

  // Results past a sequence's end are zeros.
  std::string store_text() const {
    const std::vector<std::string> state = {"d", "b", "u"};
    std::string text = fmt::format("    {} = next;\n", own("state_after"));
    if (view_.result)
      text += fmt::format(
          "    result[{}] = {};\n",
          offset_text(*view_.result, std::vector<std::string>{"t", "d", "b", "u"}),
          stored(view_.result->type, fmt::format("(step < length ? next : ({})0)", view_.type)));
    if (view_.last)
      text += fmt::format("    if (step == {}) last[{}] = {};\n", view_.steps - 1,
                          offset_text(*view_.last, state), stored(view_.last->type, "next"));
    if (view_.last_cell)
      text += fmt::format("    if (step == {}) last_cell[{}] = {};\n", view_.steps - 1,
                          offset_text(*view_.last_cell, state),
                          stored(view_.last_cell->type, "cell_next"));
    return text;
  }

  KernelCall step_call(KernelId kernel, std::int64_t step) const {
    const std::int64_t units = view_.directions * view_.hidden;
    const gpu::Launch shape{
        .blocks = {static_cast<unsigned>((units + kWarps - 1) / kWarps),
                   static_cast<unsigned>((view_.batch + view_.samples() - 1) / view_.samples()), 1},
        .threads = kWarps * 32};
    KernelCall call{kernel, shape, reads_};
    call.arguments.insert(call.arguments.end(),
                          {sums_, states_[step % 2], states_[(step + 1) % 2], cell_, reset_});
    for (const auto* output : {&view_.result, &view_.last, &view_.last_cell})
      if (*output) call.arguments.push_back(**output);
    call.arguments.push_back(number_argument(step));
    return call;
  }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  const RecurrentView& view_;
  std::vector<ActivationText> activations_;
  Placement sums_;                   // directions, steps · batch, gates · hidden
  std::array<Placement, 2> states_;  // before and after a step, in turns
  Placement cell_;                   // of an LSTM; of a GRU, the update gate
  Placement reset_;                  // the reset state of a GRU
  std::vector<Placement> reads_;
  std::vector<KernelCall> calls_;
};

bool lower_recurrent(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const std::vector<std::string> standard =
      node.is("LSTM")  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : node.is("GRU") ? std::vector<std::string>{"Sigmoid", "Tanh"}
                       : std::vector<std::string>{"Tanh"};
  const auto activations = recurrent_activations(node, standard);
  if (!activations || !node.has_input(2)) return false;
  const auto view = recurrent_view_of(lowering, node);
  if (!view) return false;
  RecurrentWriter(lowering, id, *view, *activations).add();
  return true;
}

}  // namespace

void add_recurrent_lowering(LowerTable& table) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) table[op] = lower_recurrent;
}

}  // namespace assay::cuda
