// Gradients of RNN, GRU and LSTM from what the forward pass kept: a kernel, or two, for each step
// in reverse order, in which a warp computes what one unit of some samples gets from the step
// behind; then products over all steps give the gradients of input and weights.
//
// `deltas` are the gradients of what activations were computed of, by step and sample: those that
// go to the input and, where a GRU's reset gate acts on a product, those that go to the state.
#include <fmt/core.h>

#include <array>
#include <optional>

#include "execute/cuda/column_sums.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/lower/product.h"
#include "execute/cuda/recurrent_view.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr unsigned kGradientWarps = 8;  // of a block

// Outputs in their order: gradients of X, W, R, B, the first state, the first cell and peepholes.
enum RecurrentReceiver {
  kToInput,
  kToWeight,
  kToRecurrence,
  kToBias,
  kToState,
  kToCell,
  kToPeephole
};

class RecurrentGradientWriter {
 public:
  RecurrentGradientWriter(Lowering& lowering, NodeId id, const RecurrentView& view,
                          const std::vector<Placement>& kept)
      : lowering_(lowering),
        id_(id),
        node_(lowering.node(id)),
        view_(view),
        kept_(kept),
        given_(view.has_cell() ? 8 : 6),
        all_(view.steps * view.batch) {
    deltas_ = buffer({all_, view.directions, view.rows()});
    state_deltas_ = resets_after() ? buffer({all_, view.directions, view.rows()}) : deltas_;
    flipped_ = buffer({view.directions, view.hidden, view.rows()});
    const Dims states = {view.directions, view.batch, view.hidden};
    direct_ = buffer(states);
    if (view.has_cell()) cell_gradient_ = buffer(states);
    if (asks(kToPeephole)) peepholes_ = buffer({all_, view.directions, 3 * view.hidden});
    for (const RecurrentReceiver which : {kToState, kToCell})
      if (asks(which)) first_[which - kToState] = placed(which);
  }

  void add() {
    add_steps();
    if (asks(kToInput)) add_input_product();
    if (asks(kToWeight)) add_weight_product();
    if (asks(kToRecurrence)) add_recurrence_products();
    if (asks(kToBias)) add_bias_sums();
    if (asks(kToPeephole)) add_peephole_sums();
  }

 private:
  bool asks(RecurrentReceiver which) const { return node_.has_output(which); }
  bool resets_after() const { return view_.op == "GRU" && !view_.resets_before; }
  Placement buffer(Dims dims) {
    return lowering_.in_new_buffer(row_major_placement(view_.sum_type(), std::move(dims)));
  }
  Placement placed(RecurrentReceiver which) {
    const Placement placement = lowering_.new_row_major(node_.outputs[which]);
    lowering_.set_placement(node_.outputs[which], placement);
    return placement;
  }

  // Those of deltas that a sample's step has: an expression of its place and the row.
  std::string delta(const char* name, const std::string& place, const std::string& row) const {
    return fmt::format("{}[(({} * {} + b) * {} + d) * {} + {}]", name, place, view_.batch,
                       view_.directions, view_.rows(), row);
  }
  std::string unit_delta(const char* name, std::int64_t gate) const {
    return delta(name, "t", fmt::format("{} + u", gate * view_.hidden));
  }
  std::string sum(std::int64_t gate) const {
    return fmt::format("sums[((long long)d * {} + t * {} + b) * {} + {} + u]", all_, view_.batch,
                       view_.rows(), gate * view_.hidden);
  }
  std::string kept(RecurrentKept what) const {
    return fmt::format("kept{}[((long long)d * {} + t * {} + b) * {} + u]", static_cast<int>(what),
                       all_, view_.batch, view_.hidden);
  }
  std::string declared(const char* name, const std::string& expression) const {
    return fmt::format("      const {} {} = {};\n", view_.type, name, expression);
  }

  // Statements of one unit of one sample at a step: `h` is the gradient of its state behind the
  // step. They store the deltas, and in `direct` what reaches the state before the step by itself.
  std::string rnn_text() const {
    return declared("sum", sum(0)) + fmt::format("      {} = h * {};\n      direct_next = 0;\n",
                                                 unit_delta("deltas", 0), view_.slope(0, "sum"));
  }

  std::string lstm_text(Operands& operands) const {
    std::string peep[3];
    for (std::int64_t gate = 0; gate < 3; ++gate)
      peep[gate] = node_.has_input(7)
                       ? operands.element(lowering_.native(node_.inputs[7]),
                                          std::vector<std::string>{
                                              "d", fmt::format("{} + u", gate * view_.hidden)})
                       : "0";
    std::string text = declared("input_sum", sum(0)) + declared("output_sum", sum(1)) +
                       declared("candidate_sum", sum(3)) + declared("old", kept(kKeptCell)) +
                       declared("input", view_.activated(0, "input_sum")) +
                       declared("output", view_.activated(0, "output_sum")) +
                       declared("candidate", view_.activated(1, "candidate_sum"));
    text += view_.is_coupled ? declared("forget", "1 - input")
                             : declared("forget_sum", sum(2)) +
                                   declared("forget", view_.activated(0, "forget_sum"));
    text += declared("fresh", "forget * old + input * candidate");
    text += declared("to_output", fmt::format("h * {} * {}", view_.activated(2, "fresh"),
                                              view_.slope(0, "output_sum")));
    text +=
        declared("c", fmt::format("{} + to_output * {} + h * output * {}",
                                  view_.own("cell_gradient"), peep[1], view_.slope(2, "fresh")));
    text += declared("to_input",
                     fmt::format("(c * candidate{}) * {}", view_.is_coupled ? " - c * old" : "",
                                 view_.slope(0, "input_sum")));
    text += declared("to_forget", view_.is_coupled ? std::string("0")
                                                   : "c * old * " + view_.slope(0, "forget_sum"));
    text += declared("to_candidate", "c * input * " + view_.slope(1, "candidate_sum"));
    const char* names[] = {"to_input", "to_output", "to_forget", "to_candidate"};
    for (std::int64_t gate = 0; gate < 4; ++gate)
      text += fmt::format("      {} = {};\n", unit_delta("deltas", gate), names[gate]);
    text += fmt::format("      {} = c * forget + to_input * {} + to_forget * {};\n",
                        view_.own("cell_gradient"), peep[0], peep[2]);
    if (!asks(kToPeephole)) return text + "      direct_next = 0;\n";
    const std::string place = fmt::format("peepholes[((t * {} + b) * {} + d) * {} + ", view_.batch,
                                          view_.directions, 3 * view_.hidden);
    return text + fmt::format(
                      "      direct_next = 0;\n      {0}u] = to_input * old;\n      {0}{1} + "
                      "u] = to_output * fresh;\n      {0}{2} + u] = to_forget * old;\n",
                      place, view_.hidden, 2 * view_.hidden);
  }

  // Of the update gate and the candidate; a reset gate that acts before the product has to wait for
  // the candidate's deltas of all units.
  std::string gru_text() const {
    std::string text =
        declared("update_sum", sum(0)) + declared("candidate_sum", sum(2)) +
        declared("before", kept(kKeptState)) +
        declared("update", view_.activated(0, "update_sum")) +
        declared("candidate", view_.activated(1, "candidate_sum")) +
        declared("to_update", "h * (before - candidate) * " + view_.slope(0, "update_sum")) +
        declared("to_candidate", "h * (1 - update) * " + view_.slope(1, "candidate_sum")) +
        fmt::format(
            "      {} = to_update;\n      {} = to_candidate;\n      direct_next = h * update;\n",
            unit_delta("deltas", 0), unit_delta("deltas", 2));
    if (!resets_after()) return text;
    return text + declared("reset_sum", sum(1)) +
           declared("reset", view_.activated(0, "reset_sum")) +
           declared("to_reset", fmt::format("to_candidate * {} * {}", kept(kKeptReset),
                                            view_.slope(0, "reset_sum"))) +
           fmt::format(
               "      {} = to_reset;\n      {} = to_update;\n      {} = to_reset;\n"
               "      {} = to_candidate * reset;\n",
               unit_delta("deltas", 1), unit_delta("state_deltas", 0),
               unit_delta("state_deltas", 1), unit_delta("state_deltas", 2));
  }

  // Of the reset gate, where `h` is the gradient of the reset state.
  std::string gru_reset_text() const {
    return declared("reset_sum", sum(1)) + declared("before", kept(kKeptState)) +
           fmt::format("      {} = h * before * {};\n      direct_next = {} + h * {};\n",
                       unit_delta("deltas", 1), view_.slope(0, "reset_sum"), view_.own("direct"),
                       view_.activated(0, "reset_sum"));
  }

  // One kernel: `h` is the product of these gates' deltas, of the step behind or of this one, with
  // the recurrence weight.
  struct StepForm {
    std::int64_t first_gate = 0;
    std::int64_t end_gate = 0;
    bool is_behind = true;  // and `h` gets what is direct and what the results are given
    std::string cell = "";
  };

  std::string start_text(Operands& operands) const {
    const auto given = [&](std::size_t which, std::vector<std::string> at) -> std::string {
      const std::size_t input = given_ + which;
      if (!node_.has_input(input)) return "0";
      return operands.element(lowering_.native(node_.inputs[input]), at);
    };
    std::string text = fmt::format("      h += step == {} ? {} : {};\n", view_.steps - 1,
                                   given(1, {"d", "b", "u"}), view_.own("direct"));
    if (view_.has_cell())
      text += fmt::format("      if (step == {}) {} = {};\n", view_.steps - 1,
                          view_.own("cell_gradient"), given(2, {"d", "b", "u"}));
    text += "      if (step < 0) {\n";
    for (std::size_t i = 0; i < first_.size(); ++i)
      if (first_[i])
        text += fmt::format("        {} = {};\n", view_.own(fmt::format("first{}", i)),
                            stored(first_[i]->type, i == 0 ? "h" : view_.own("cell_gradient")));
    text += "        continue;\n      }\n";
    return text +
           fmt::format("      if (step < length) h += {};\n", given(0, {"t", "d", "b", "u"}));
  }

  // What a sequence's end is given passes steps behind it unchanged.
  std::string idle_text() const {
    std::string text;
    for (std::int64_t gate = 0; gate < view_.gates; ++gate) {
      text += fmt::format("        {} = 0;\n", unit_delta("deltas", gate));
      if (resets_after())
        text += fmt::format("        {} = 0;\n", unit_delta("state_deltas", gate));
    }
    if (asks(kToPeephole))
      for (std::int64_t gate = 0; gate < 3; ++gate)
        text += fmt::format("        peepholes[((t * {} + b) * {} + d) * {} + {} + u] = 0;\n",
                            view_.batch, view_.directions, 3 * view_.hidden, gate * view_.hidden);
    return text;
  }

  KernelId step_kernel(const StepForm& form) {
    Operands operands(lowering_);
    const std::string length = node_.has_input(4)
                                   ? "(int)" + operands.element(lowering_.native(node_.inputs[4]),
                                                                std::vector<std::string>{"b"})
                                   : fmt::format("{}", view_.steps);
    const std::string weight =
        operands.element(flipped_, std::vector<std::string>{"d", "u", "row"});
    const std::string behind = form.is_behind ? "step + 1" : "step";
    const std::string cell = view_.has_cell() && form.is_behind ? lstm_text(operands) : form.cell;
    const std::string start = form.is_behind ? start_text(operands) : "";
    const std::string text = fmt::format(
        R"(
extern "C" __global__ void KERNEL({parameters}const {type}* __restrict__ sums{kept}, {type}* deltas, {type}* state_deltas,
    {type}* direct, {type}* cell_gradient, {type}* peepholes{first}, long long step) {{
  const int lane = threadIdx.x % 32;
  const long long unit = blockIdx.x * {warps}ll + threadIdx.x / 32;
  const int d = (int)(unit / {hidden}), u = (int)(unit % {hidden});
  const int first = blockIdx.y * {samples};
  {type} all[{samples}] = {{}};
  if (unit < {units} && {behind} < {steps}) {{
    long long places[{samples}];
    for (int s = 0; s < {samples}; ++s) {{
      const int b = first + s < {batch} ? first + s : {last_sample};
      const int length = {length};
      places[s] = {place};
    }}
    for (int row = {first_row} + lane; row < {end_row}; row += 32) {{
      const {type} weight = {weight};
      for (int s = 0; s < {samples}; ++s) {{
        const int b = first + s < {batch} ? first + s : {last_sample};
        all[s] += weight * {delta};
      }}
    }}
  }}
  for (int s = 0; s < {samples}; ++s)
    for (int mask = 16; mask > 0; mask /= 2) all[s] += __shfl_xor_sync(0xffffffffu, all[s], mask);
  if (unit >= {units}) return;
  for (int s = 0; s < {samples}; ++s) {{
    const int b = first + s;
    if (lane != s || b >= {batch}) continue;
    const int length = {length};
    const long long t = {position};
    {type} h = all[s], direct_next = 0;
    {{
{start}    }}
    if (step < length) {{
{cell}    }} else {{
      direct_next = {idle};
{nothing}    }}
    {direct} = direct_next;
  }}
}}
)",
        fmt::arg("parameters", operands.parameters()), fmt::arg("type", view_.type),
        fmt::arg("kept", kept_parameters()), fmt::arg("first", first_parameters()),
        fmt::arg("warps", kGradientWarps), fmt::arg("hidden", view_.hidden),
        fmt::arg("samples", view_.samples()), fmt::arg("units", view_.directions * view_.hidden),
        fmt::arg("behind", behind), fmt::arg("steps", view_.steps), fmt::arg("batch", view_.batch),
        fmt::arg("last_sample", view_.batch - 1), fmt::arg("length", length),
        fmt::arg("place", view_.position("(" + behind + ")")),
        fmt::arg("first_row", form.first_gate * view_.hidden),
        fmt::arg("end_row", form.end_gate * view_.hidden), fmt::arg("weight", weight),
        fmt::arg("delta", delta("state_deltas", "places[s]", "row")),
        fmt::arg("position", view_.position("step")), fmt::arg("start", start),
        fmt::arg("cell", cell), fmt::arg("idle", form.is_behind ? "h" : view_.own("direct")),
        fmt::arg("nothing", form.is_behind ? idle_text() : ""),
        fmt::arg("direct", view_.own("direct")));
    arguments_ = operands.reads();
    return lowering_.kernels().add(text, true);
  }

  std::string kept_parameters() const {
    std::string list;
    for (std::size_t i = kKeptState; i < kept_.size(); ++i)
      if (kept_[i].buffer.is_valid())
        list += fmt::format(", const {}* __restrict__ kept{}", view_.type, i);
    return list;
  }
  std::string first_parameters() const {
    std::string list;
    for (std::size_t i = 0; i < first_.size(); ++i)
      if (first_[i]) list += fmt::format(", {}* first{}", stored_type(first_[i]->type), i);
    return list;
  }

  KernelCall step_call(KernelId kernel, std::vector<Placement> arguments, std::int64_t step) const {
    const std::int64_t units = view_.directions * view_.hidden;
    const gpu::Launch shape{
        .blocks = {static_cast<unsigned>((units + kGradientWarps - 1) / kGradientWarps),
                   static_cast<unsigned>((view_.batch + view_.samples() - 1) / view_.samples()), 1},
        .threads = kGradientWarps * 32};
    KernelCall call{kernel, shape, std::move(arguments)};
    for (const Placement& kept : kept_)
      if (kept.buffer.is_valid()) call.arguments.push_back(kept);
    call.arguments.insert(call.arguments.end(),
                          {deltas_, state_deltas_, direct_, cell_gradient_, peepholes_});
    for (const auto& first : first_)
      if (first) call.arguments.push_back(*first);
    call.arguments.push_back(number_argument(step));
    return call;
  }

  // The recurrence weight as warps read it, one unit's column after the other.
  KernelCall flip_call() {
    Placement seen = view_.recurrence;
    swap_axes(seen, 1, 2);
    const KernelText copy = copy_kernel(seen, flipped_);
    return {lowering_.kernels().add(copy.text), copy.shape, {seen, flipped_}};
  }

  void add_steps() {
    const bool waits = view_.op == "GRU" && view_.resets_before;
    const std::string cell = view_.op == "RNN" ? rnn_text() : view_.op == "GRU" ? gru_text() : "";
    const KernelId kernel =
        step_kernel({.end_gate = waits ? 2 : view_.gates, .is_behind = true, .cell = cell});
    std::vector<Placement> arguments = arguments_;
    std::optional<KernelId> reset;
    if (waits)
      reset = step_kernel(
          {.first_gate = 2, .end_gate = 3, .is_behind = false, .cell = gru_reset_text()});
    std::vector<KernelCall> calls = {flip_call()};
    for (std::int64_t step = view_.steps - 1; step >= 0; --step) {
      calls.push_back(step_call(kernel, arguments, step));
      if (reset) calls.push_back(step_call(*reset, arguments_, step));
    }
    if (first_[0] || first_[1]) calls.push_back(step_call(kernel, arguments, -1));
    StepDraft draft{.nodes = {id_},
                    .algorithm = "own steps",
                    .executed_flops = 2 * view_.directions * all_ * view_.rows() * view_.hidden};
    for (const std::vector<Placement>* read : {&arguments, &kept_})
      for (const Placement& placement : *read)
        if (placement.buffer.is_valid() && placement.buffer != flipped_.buffer)
          draft.reads.push_back(placement);
    draft.writes = {deltas_};
    if (resets_after()) draft.writes.push_back(state_deltas_);
    if (peepholes_.buffer.is_valid()) draft.writes.push_back(peepholes_);
    for (const auto& first : first_)
      if (first) draft.writes.push_back(*first);
    draft.reads.push_back(view_.recurrence);
    draft.workspace = {direct_.buffer, flipped_.buffer};
    if (view_.has_cell()) draft.workspace.push_back(cell_gradient_.buffer);
    lowering_.add_step(draft, binder_of(calls));
  }

  // The deltas of some gates as matrices [directions, gates · hidden, steps · batch].
  Placement transposed(const Placement& deltas, std::int64_t first_gate,
                       std::int64_t end_gate) const {
    Placement seen = deltas;
    seen.dims = {view_.directions, (end_gate - first_gate) * view_.hidden, all_};
    seen.strides = {view_.rows(), 1, view_.directions * view_.rows()};
    seen.offset += first_gate * view_.hidden;
    return seen;
  }

  void add_input_product() {
    Placement deltas = deltas_;
    deltas.dims = {1, all_, view_.directions * view_.rows()};
    deltas.strides = {all_ * deltas.dims[2], deltas.dims[2], 1};
    Placement weight = lowering_.row_major(node_.inputs[1]);
    weight.dims = {1, deltas.dims[2], view_.features};
    weight.strides = {deltas.dims[2] * view_.features, view_.features, 1};
    Placement result = placed(kToInput);
    result.dims = {1, all_, view_.features};
    result.strides = {all_ * view_.features, view_.features, 1};
    add_product_step(lowering_, id_, deltas, weight, result);
  }

  void add_weight_product() {
    Placement input = lowering_.row_major(node_.inputs[0]);
    input.dims = {view_.directions, all_, view_.features};
    input.strides = {0, view_.features, 1};
    add_product_step(lowering_, id_, transposed(deltas_, 0, view_.gates), input, placed(kToWeight));
  }

  // The candidate of a GRU may get the reset state instead of the state.
  void add_recurrence_products() {
    const Placement result = placed(kToRecurrence);
    if (view_.op != "GRU" || !view_.resets_before) {
      add_product_step(lowering_, id_, transposed(state_deltas_, 0, view_.gates), kept_[kKeptState],
                       result);
      return;
    }
    const auto add_gates = [&](std::int64_t first, std::int64_t end, RecurrentKept what) {
      Placement part = result;
      part.dims[1] = (end - first) * view_.hidden;
      part.offset += first * view_.hidden * view_.hidden;
      const Placement product = buffer(part.dims);
      add_product_step(lowering_, id_, transposed(state_deltas_, first, end), kept_[what], product);
      lowering_.add_copy(node_.outputs[kToRecurrence], product, part);
    };
    add_gates(0, 2, kKeptState);
    add_gates(2, 3, kKeptReset);
  }

  void add_column_sums(const std::vector<Placement>& sources, std::int64_t width,
                       const std::string& finish, const Placement& result) {
    const Rows rows = rows_over({all_, view_.directions, width}, {0});
    Operands adding(lowering_);
    const Operands finishing(lowering_);
    ColumnSums sums{.rows = rows,
                    .are_columns_adjacent = true,
                    .type = view_.type,
                    .count = sources.size(),
                    .add = "",
                    .finish = finish};
    for (std::size_t i = 0; i < sources.size(); ++i)
      sums.add += fmt::format("      sum{} += {};\n", i,
                              adding.element(sources[i], index_names(rows.dims)));
    StepDraft draft{
        .nodes = {id_},
        .algorithm = "own column sums",
        .executed_flops = rows.count * rows.width * static_cast<std::int64_t>(sources.size()),
        .reads = sources,
        .writes = {result}};
    const auto calls = column_sum_calls(lowering_, sums, adding, finishing, {result}, draft);
    lowering_.add_step(draft, binder_of(calls));
  }

  // Those of the input, then those of the state.
  void add_bias_sums() {
    const Placement result = placed(kToBias);
    std::vector<Placement> sources = {deltas_};
    if (resets_after()) sources.push_back(state_deltas_);
    const std::string finish =
        fmt::format("  out0[i1 * {0} + i2] = {1};\n  out0[i1 * {0} + {2} + i2] = {3};\n",
                    2 * view_.rows(), stored(result.type, "sum0"), view_.rows(),
                    stored(result.type, resets_after() ? "sum1" : "sum0"));
    add_column_sums(sources, view_.rows(), finish, result);
  }

  void add_peephole_sums() {
    const Placement result = placed(kToPeephole);
    add_column_sums(
        {peepholes_}, 3 * view_.hidden,
        fmt::format("  out0[i1 * {} + i2] = {};\n", 3 * view_.hidden, stored(result.type, "sum0")),
        result);
  }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  const RecurrentView& view_;
  std::vector<Placement> kept_;
  std::size_t given_ = 0;   // input of the result's gradient; those of the last states follow
  std::int64_t all_ = 0;    // steps · batch
  Placement deltas_;        // steps · batch, directions, gates · hidden
  Placement state_deltas_;  // the same
  Placement flipped_;       // directions, hidden, gates · hidden
  Placement direct_;        // directions, batch, hidden
  Placement cell_gradient_;
  Placement peepholes_;  // steps · batch, directions, 3 · hidden
  std::array<std::optional<Placement>, 2> first_;
  std::vector<Placement> arguments_;  // of the kernel written last
};

bool lower_recurrent_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto* kept = lowering.kept(kRecurrentKept, id.number);
  if (kept == nullptr) return false;
  const char* op = node.op == "LstmGradient" ? "LSTM" : node.op == "GruGradient" ? "GRU" : "RNN";
  const auto view = recurrent_view_of(lowering, node, op);
  // Products read and write all steps of all samples as rows, and numbers of the sums' type.
  if (!view || view->is_batch_first || view->input.type != view->sum_type()) return false;
  RecurrentGradientWriter(lowering, id, *view, *kept).add();
  return true;
}

}  // namespace

void add_recurrent_gradient_lowering(LowerTable& table) {
  for (const char* op : {"assay.RnnGradient", "assay.GruGradient", "assay.LstmGradient"})
    table[op] = lower_recurrent_gradient;
}

}  // namespace assay::cuda
