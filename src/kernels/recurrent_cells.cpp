// RNN, GRU and LSTM: one step of each, by the equations of the ONNX specification.
#include "kernels/recurrent_cells.h"

#include "kernels/families.h"

namespace assay::kernels {

namespace {

// W·x + R·h + both biases, of one gate and unit.
double preactivation(const RecurrentDirection& direction, std::int64_t gate, std::int64_t unit,
                     const double* x, const double* h) {
  return direction.from_input(gate, unit, x) + direction.from_state(gate, unit, h) +
         direction.input_bias(gate, unit) + direction.state_bias(gate, unit);
}

Gate gate_of(const RecurrentDirection& direction, std::size_t function, double sum) {
  return {sum, direction.activated(function, sum)};
}

void rnn_cell(const KernelCall&, const RecurrentDirection& direction, const double* x,
              RecurrentState& state) {
  std::vector<double> next(state.h.size());
  for (std::int64_t unit = 0; unit < direction.sizes.hidden; ++unit)
    next[unit] = rnn_unit(direction, unit, x, state.h.data()).value;
  state.h = std::move(next);
}

void gru_cell(const KernelCall& call, const RecurrentDirection& direction, const double* x,
              RecurrentState& state) {
  const GruStep step = gru_step(call, direction, x, state.h);
  for (std::size_t unit = 0; unit < state.h.size(); ++unit) {
    const double update = step.update[unit].value;
    state.h[unit] = (1 - update) * step.candidate[unit].value + update * state.h[unit];
  }
}

void lstm_cell(const KernelCall& call, const RecurrentDirection& direction, const double* x,
               RecurrentState& state) {
  std::vector<double> next(state.h.size());
  for (std::int64_t unit = 0; unit < direction.sizes.hidden; ++unit) {
    const LstmUnit at = lstm_unit(call, direction, unit, x, state);
    state.c[unit] = at.squashed.sum;
    next[unit] = at.output.value * at.squashed.value;
  }
  state.h = std::move(next);
}

std::vector<Tensor> rnn(const KernelCall& call) {
  return run_recurrent(call, rnn_op());
}

std::vector<Tensor> gru(const KernelCall& call) {
  return run_recurrent(call, gru_op());
}

std::vector<Tensor> lstm(const KernelCall& call) {
  return run_recurrent(call, lstm_op());
}

}  // namespace

Gate rnn_unit(const RecurrentDirection& direction, std::int64_t unit, const double* x,
              const double* h) {
  return gate_of(direction, 0, preactivation(direction, 0, unit, x, h));
}

GruStep gru_step(const KernelCall& call, const RecurrentDirection& direction, const double* x,
                 const std::vector<double>& h) {
  GruStep step{.resets_after = call.node.int_or("linear_before_reset", 0) != 0};
  const std::int64_t hidden = direction.sizes.hidden;
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    const auto gate = [&](GruGate which) {
      return gate_of(direction, 0, preactivation(direction, which, unit, x, h.data()));
    };
    step.update.push_back(gate(kGruUpdate));
    step.reset.push_back(gate(kGruReset));
    step.reset_state.push_back(step.reset.back().value * h[unit]);
  }
  const double* state = step.resets_after ? h.data() : step.reset_state.data();
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    const double recurrent =
        direction.from_state(kGruHidden, unit, state) + direction.state_bias(kGruHidden, unit);
    const double input =
        direction.from_input(kGruHidden, unit, x) + direction.input_bias(kGruHidden, unit);
    const double share = step.resets_after ? step.reset[unit].value : 1;
    step.recurrent.push_back(recurrent);
    step.candidate.push_back(gate_of(direction, 1, input + share * recurrent));
  }
  return step;
}

LstmUnit lstm_unit(const KernelCall& call, const RecurrentDirection& direction, std::int64_t unit,
                   const double* x, const RecurrentState& state) {
  const double old = state.c[unit];
  const auto gate = [&](LstmGate which, std::size_t function, double peep) {
    return gate_of(direction, function,
                   preactivation(direction, which, unit, x, state.h.data()) + peep);
  };
  LstmUnit at{.is_coupled = call.node.int_or("input_forget", 0) != 0};
  at.input = gate(kLstmInput, 0, direction.peephole(kLstmInput, unit) * old);
  at.forget = at.is_coupled ? Gate{0, 1 - at.input.value}
                            : gate(kLstmForget, 0, direction.peephole(kLstmForget, unit) * old);
  at.candidate = gate(kLstmCell, 1, 0);
  const double cell = at.forget.value * old + at.input.value * at.candidate.value;
  at.squashed = gate_of(direction, 2, cell);
  at.output = gate(kLstmOutput, 0, direction.peephole(kLstmOutput, unit) * cell);
  return at;
}

RecurrentOp rnn_op() {
  return {1, {"Tanh"}, rnn_cell, false};
}

RecurrentOp gru_op() {
  return {3, {"Sigmoid", "Tanh"}, gru_cell, false};
}

RecurrentOp lstm_op() {
  return {4, {"Sigmoid", "Tanh", "Tanh"}, lstm_cell, true};
}

void add_recurrent_kernels(KernelTable& table) {
  table["RNN"] = rnn;
  table["GRU"] = gru;
  table["LSTM"] = lstm;
}

}  // namespace assay::kernels
