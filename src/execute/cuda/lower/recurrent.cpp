// RNN, GRU and LSTM: what gates get from the inputs is one product over all steps; then a kernel,
// or two, for each step, in which a warp computes one unit of some samples.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "execute/cuda/chain.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/recurrent_view.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr unsigned kWarps = 8;  // of a block

// Where results are; absent ones are not computed.
struct RecurrentResults {
  std::optional<Placement> all;   // steps, directions, batch, hidden
  std::optional<Placement> last;  // directions, batch, hidden
  std::optional<Placement> last_cell;
};

RecurrentResults place_results(Lowering& lowering, const Node& node, const RecurrentView& view) {
  const auto placed = [&](std::size_t output) -> std::optional<Placement> {
    if (!node.has_output(output)) return {};
    Placement placement = lowering.new_row_major(node.outputs[output]);
    lowering.set_placement(node.outputs[output], placement);
    if (view.is_batch_first) swap_axes(placement, 0, 1);
    return placement;
  };
  RecurrentResults results{.all = placed(0), .last = placed(1), .last_cell = {}};
  if (results.all && view.is_batch_first) swap_axes(*results.all, 1, 2);
  if (view.has_cell()) results.last_cell = placed(2);
  return results;
}

// Writes the texts and the calls of one recurrent node.
class RecurrentWriter {
 public:
  RecurrentWriter(Lowering& lowering, NodeId id, const RecurrentView& view)
      : lowering_(lowering),
        id_(id),
        node_(lowering.node(id)),
        view_(view),
        results_(place_results(lowering, node_, view)),
        gradient_(recurrent_gradient_of(lowering, node_)) {
    const auto buffer = [&](Dims dims) {
      return lowering.in_new_buffer(row_major_placement(view.sum_type(), std::move(dims)));
    };
    const Dims states = {view.directions, view.batch, view.hidden};
    sums_ = buffer({view.directions, view.steps * view.batch, view.rows()});
    states_ = {buffer(states), buffer(states)};
    cell_ = buffer(states);
    if (view.resets_before) reset_ = buffer(states);
    if (!keeps()) return;
    const Dims all = {view.directions, view.steps * view.batch, view.hidden};
    kept_[kKeptSums] = sums_;
    kept_[kKeptState] = buffer(all);
    if (view.has_cell()) kept_[kKeptCell] = buffer(all);
    if (view.op == "GRU") kept_[kKeptReset] = buffer(all);
    lowering.keep(kRecurrentKept, gradient_.number, kept_);
  }

  void add() {
    calls_.push_back(input_product());
    const std::vector<KernelId> kernels = step_kernels();
    for (std::int64_t step = 0; step < view_.steps; ++step)
      for (const KernelId kernel : kernels) calls_.push_back(step_call(kernel, step));
    StepDraft draft{.nodes = {id_}, .algorithm = "own steps", .executed_flops = flops()};
    for (const ValueId input : node_.inputs)
      if (input.is_valid()) draft.reads.push_back(lowering_.native(input));
    for (const auto* written : {&results_.all, &results_.last, &results_.last_cell})
      if (*written) draft.writes.push_back(**written);
    for (const Placement& kept : kept_)
      if (kept.buffer.is_valid()) draft.writes.push_back(kept);
    for (const Placement& own : {sums_, states_[0], states_[1], cell_, reset_})
      if (own.buffer.is_valid()) draft.workspace.push_back(own.buffer);
    lowering_.add_step(draft, binder_of(calls_));
  }

 private:
  // For the backward pass.
  bool keeps() const { return gradient_.is_valid(); }

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

  // Declares `name`, what an activation of gate `gate` is computed of.
  std::string sum_text(const std::string& name, std::int64_t gate, const std::string& sum) const {
    const std::string kept = keeps() ? fmt::format("      {} = {};\n", from_input(gate), name) : "";
    return fmt::format("      const {} {} = {};\n{}", view_.type, name, sum, kept);
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
  std::string own(const char* name) const { return view_.own(name); }
  // Stores a number of each unit, step and sample.
  std::string keep_text(RecurrentKept what, const char* number) const {
    if (!kept_[what].buffer.is_valid()) return "";
    return fmt::format("    kept{}[((long long)d * {} + t * {} + b) * {} + u] = {};\n",
                       static_cast<int>(what), view_.steps * view_.batch, view_.batch, view_.hidden,
                       number);
  }

  std::string rnn_text(const Given& texts) const {
    return sum_text("sum", 0, preactivation(texts, 0, 0)) +
           fmt::format("      next = {};\n", view_.activated(0, "sum"));
  }

  std::string lstm_text(const Given& texts) const {
    const auto gate = [&](const char* name, std::int64_t which, std::size_t peephole,
                          const char* cell) {
      std::string sum = preactivation(texts, which, which);
      if (!texts.peephole[peephole].empty())
        sum += fmt::format(" + {} * {}", texts.peephole[peephole], cell);
      return sum_text(fmt::format("{}_sum", name), which, sum) +
             fmt::format("      const {} {} = {};\n", view_.type, name,
                         view_.activated(0, fmt::format("{}_sum", name)));
    };
    const std::string forget = view_.is_coupled
                                   ? fmt::format("      const {} forget = 1 - input;\n", view_.type)
                                   : gate("forget", 2, 2, "old");
    return fmt::format(
        R"(      const {type} old = step == 0 ? {first} : {cell};
{input}{forget}{candidate_sum}      const {type} candidate = {candidate};
      const {type} fresh = forget * old + input * candidate;
{output}      if (step < length) next = output * {squashed};
      cell_next = step < length ? fresh : old;
      {cell} = cell_next;
{kept})",
        fmt::arg("type", view_.type), fmt::arg("first", texts.cell), fmt::arg("cell", own("cell")),
        fmt::arg("input", gate("input", 0, 0, "old")), fmt::arg("forget", forget),
        fmt::arg("candidate_sum", sum_text("candidate_sum", 3, preactivation(texts, 3, 3))),
        fmt::arg("candidate", view_.activated(1, "candidate_sum")),
        fmt::arg("output", gate("output", 1, 1, "fresh")),
        fmt::arg("squashed", view_.activated(2, "fresh")),
        fmt::arg("kept", keep_text(kKeptCell, "old")));
  }

  // Update and reset gate, before the reset state is multiplied.
  std::string gru_gates_text(const Given& texts) const {
    return sum_text("update_sum", 0, preactivation(texts, 0, 0)) +
           sum_text("reset_sum", 1, preactivation(texts, 1, 1)) +
           fmt::format("      {0} = {1};\n      {2} = {3} * before;\n      cell_next = {2};\n",
                       own("cell"), view_.activated(0, "update_sum"), own("reset"),
                       view_.activated(0, "reset_sum"));
  }

  std::string gru_text(const Given& texts) const {
    std::string update = own("cell");
    std::string text;
    std::string sum = preactivation(texts, 2, 0);
    if (!view_.resets_before) {
      text = sum_text("update_sum", 0, preactivation(texts, 0, 0)) +
             sum_text("reset_sum", 1, preactivation(texts, 1, 1)) +
             fmt::format("      cell_next = recurrent[2] + {};\n", texts.bias[2]);
      update = view_.activated(0, "update_sum");
      sum = fmt::format("{} + {} * cell_next", from_input(2), view_.activated(0, "reset_sum"));
    }
    return text + sum_text("candidate_sum", 2, sum) +
           fmt::format(
               "      const {0} update = {1};\n      next = (1 - update) * {2} + update * "
               "before;\n",
               view_.type, update, view_.activated(1, "candidate_sum"));
  }

  std::vector<KernelId> step_kernels() {
    if (view_.op == "RNN") return {step_kernel({0}, "before", &RecurrentWriter::rnn_text, true)};
    if (view_.op == "LSTM")
      return {step_kernel({0, 1, 2, 3}, "before", &RecurrentWriter::lstm_text, true)};
    if (!view_.resets_before)
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
extern "C" __global__ void KERNEL({parameters}{kind}{type}* __restrict__ sums, const {type}* __restrict__ state_before,
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
    const long long t = {position};
    {type} next = before, cell_next = 0;
    {condition}{{
{cell}    }}
{store}  }}
}}
)",
        fmt::arg("parameters", operands.parameters()), fmt::arg("type", view_.type),
        fmt::arg("kind", keeps() ? "" : "const "), fmt::arg("outputs", output_parameters()),
        fmt::arg("warps", kWarps), fmt::arg("hidden", view_.hidden),
        fmt::arg("samples", view_.samples()), fmt::arg("gates", gates.size()),
        fmt::arg("units", view_.directions * view_.hidden), fmt::arg("batch", view_.batch),
        fmt::arg("last_sample", view_.batch - 1),
        fmt::arg("multiplied", multiplied == "before" ? before_all : "reset" + all),
        fmt::arg("products", products), fmt::arg("length", texts.length),
        fmt::arg("before", before), fmt::arg("position", view_.position("step")),
        fmt::arg("condition", view_.has_cell() ? "" : "if (step < length) "),
        fmt::arg("cell", (this->*cell)(texts)),
        fmt::arg("store", stores ? store_text() : keep_text(kKeptReset, "cell_next")));
    reads_ = operands.reads();
    return lowering_.kernels().add(text, true);
  }

  std::string output_parameters() const {
    std::string list;
    const std::pair<const std::optional<Placement>*, const char*> outputs[] = {
        {&results_.all, "result"}, {&results_.last, "last"}, {&results_.last_cell, "last_cell"}};
    for (const auto& [placement, name] : outputs)
      if (*placement)
        list += fmt::format(", {}* __restrict__ {}", stored_type((*placement)->type), name);
    for (std::size_t i = kKeptState; i < kept_.size(); ++i)
      if (kept_[i].buffer.is_valid()) list += fmt::format(", {}* kept{}", view_.type, i);
    return list;
  }

  // Results past a sequence's end are zeros.
  std::string store_text() const {
    const std::vector<std::string> state = {"d", "b", "u"};
    std::string text = fmt::format("    {} = next;\n", own("state_after"));
    text += keep_text(kKeptState, "before");
    if (!view_.resets_before) text += keep_text(kKeptReset, "cell_next");
    if (results_.all)
      text += fmt::format(
          "    result[{}] = {};\n",
          offset_text(*results_.all, std::vector<std::string>{"t", "d", "b", "u"}),
          stored(results_.all->type, fmt::format("(step < length ? next : ({})0)", view_.type)));
    if (results_.last)
      text += fmt::format("    if (step == {}) last[{}] = {};\n", view_.steps - 1,
                          offset_text(*results_.last, state), stored(results_.last->type, "next"));
    if (results_.last_cell)
      text += fmt::format("    if (step == {}) last_cell[{}] = {};\n", view_.steps - 1,
                          offset_text(*results_.last_cell, state),
                          stored(results_.last_cell->type, "cell_next"));
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
    for (const auto* output : {&results_.all, &results_.last, &results_.last_cell})
      if (*output) call.arguments.push_back(**output);
    for (std::size_t i = kKeptState; i < kept_.size(); ++i)
      if (kept_[i].buffer.is_valid()) call.arguments.push_back(kept_[i]);
    call.arguments.push_back(number_argument(step));
    return call;
  }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  const RecurrentView& view_;
  RecurrentResults results_;
  NodeId gradient_;
  std::vector<Placement> kept_ = std::vector<Placement>(kKeptEntries);
  Placement sums_;                   // directions, steps · batch, gates · hidden
  std::array<Placement, 2> states_;  // before and after a step, in turns
  Placement cell_;                   // of an LSTM; of a GRU, the update gate
  Placement reset_;                  // the reset state of a GRU
  std::vector<Placement> reads_;
  std::vector<KernelCall> calls_;
};

bool lower_recurrent(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto view = recurrent_view_of(lowering, node, node.op);
  if (!view) return false;
  RecurrentWriter(lowering, id, *view).add();
  return true;
}

}  // namespace

void add_recurrent_lowering(LowerTable& table) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) table[op] = lower_recurrent;
}

}  // namespace assay::cuda
