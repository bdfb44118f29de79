// RNN, LSTM and GRU over all time steps, directions and gates; and their gradients.
#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

struct Cell {
  std::int64_t gates = 1;
  std::int64_t flops_per_unit = 1;  // element-wise work for one hidden unit in one step
};

struct Sizes {
  std::int64_t steps = 0;  // time steps × batch × directions
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
};

Sizes sizes_of(const OpView& op) {
  const auto x = op.input_dims(0);  // [time, batch, inputs] or [batch, time, inputs]
  const auto r = op.input_dims(2);  // [directions, gates·hidden, hidden], or the last two swapped
  if (x.size() != 3 || r.size() != 3) {
    fail_bad_input("{} '{}': X and R must have rank 3, they have {} and {}", op.node().op,
                   op.graph().display_name(op.id()), x.size(), r.size());
  }
  return {saturating_multiply(saturating_multiply(x[0], x[1]), r[0]), x[2], std::min(r[1], r[2])};
}

Work recurrent(const OpView& op, Cell cell) {
  const Sizes sizes = sizes_of(op);
  const std::int64_t units = saturating_multiply(sizes.steps, sizes.hidden);
  const std::int64_t gate_units = saturating_multiply(cell.gates, units);
  Work work =
      macs_only(saturating_multiply(gate_units, saturating_add(sizes.inputs, sizes.hidden)));
  work.other_flops = saturating_multiply(cell.flops_per_unit, units);
  // The two bias vectors of a gate are one: their sum is known before the first step.
  if (op.has_input(3)) work.bias_flops = gate_units;
  return work;
}

Work rnn(const OpView& op) {
  return recurrent(op, {.gates = 1, .flops_per_unit = 1});  // one activation
}

// Three sigmoids, two tanh, three products, one sum; a peephole adds three MACs.
Work lstm(const OpView& op) {
  Work work = recurrent(op, {.gates = 4, .flops_per_unit = 9});
  if (op.has_input(7)) {
    const Sizes sizes = sizes_of(op);
    const std::int64_t peephole =
        saturating_multiply(3, saturating_multiply(sizes.steps, sizes.hidden));
    work.macs = saturating_add(work.macs, peephole);
    work.effective_macs = work.macs;
  }
  return work;
}

// Two sigmoids, one tanh, r⊙h, and h' = (1 − z)⊙n + z⊙h.
Work gru(const OpView& op) {
  return recurrent(op, {.gates = 3, .flops_per_unit = 8});
}

// The forward pass again, and for each of its products two in the backward pass: for the operand
// and for the weight. A bias is added once and its gradient summed once.
template <CountWork forward>
Work gradient(const OpView& op) {
  Work work = forward(op);
  work.macs = saturating_multiply(3, work.macs);
  work.effective_macs = work.macs;
  work.other_flops = saturating_multiply(3, work.other_flops);
  work.bias_flops = saturating_multiply(2, work.bias_flops);
  return work;
}

}  // namespace

void add_recurrent_costs(CostTable& table) {
  table["RNN"] = {rnn};
  table["LSTM"] = {lstm};
  table["GRU"] = {gru};
  table["com.microsoft:DynamicQuantizeLSTM"] = {lstm};
  table["assay:RnnGradient"] = {gradient<rnn>};
  table["assay:LstmGradient"] = {gradient<lstm>};
  table["assay:GruGradient"] = {gradient<gru>};
}

}  // namespace assay::cost
