// RNN, GRU and LSTM: one step of each, by the equations of the ONNX specification.
#include "kernels/families.h"
#include "kernels/recurrent.h"

namespace assay {

namespace {

// W·x + R·h + both biases, of one gate and unit.
double preactivation(const RecurrentDirection& direction, std::int64_t gate, std::int64_t unit,
                     const double* x, const double* h) {
  return direction.from_input(gate, unit, x) + direction.from_state(gate, unit, h) +
         direction.input_bias(gate, unit) + direction.state_bias(gate, unit);
}

void rnn_cell(const KernelCall&, const RecurrentDirection& direction, const double* x,
              RecurrentState& state) {
  std::vector<double> next(state.h.size());
  for (std::int64_t unit = 0; unit < direction.sizes.hidden; ++unit)
    next[unit] = direction.activated(0, preactivation(direction, 0, unit, x, state.h.data()));
  state.h = std::move(next);
}

// The reset gate acts on the state before the recurrence weight, or on what comes out of it.
void gru_cell(const KernelCall& call, const RecurrentDirection& direction, const double* x,
              RecurrentState& state) {
  enum Gate { kUpdate, kReset, kHidden };
  const bool resets_after = call.node.int_or("linear_before_reset", 0) != 0;
  const std::int64_t hidden = direction.sizes.hidden;
  std::vector<double> update(hidden), reset(hidden), reset_state(hidden), next(hidden);
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    update[unit] =
        direction.activated(0, preactivation(direction, kUpdate, unit, x, state.h.data()));
    reset[unit] = direction.activated(0, preactivation(direction, kReset, unit, x, state.h.data()));
    reset_state[unit] = reset[unit] * state.h[unit];
  }
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    const double bias = direction.state_bias(kHidden, unit);
    const double recurrent =
        resets_after ? reset[unit] * (direction.from_state(kHidden, unit, state.h.data()) + bias)
                     : direction.from_state(kHidden, unit, reset_state.data()) + bias;
    const double input =
        direction.from_input(kHidden, unit, x) + direction.input_bias(kHidden, unit);
    const double candidate = direction.activated(1, input + recurrent);
    next[unit] = (1 - update[unit]) * candidate + update[unit] * state.h[unit];
  }
  state.h = std::move(next);
}

void lstm_cell(const KernelCall& call, const RecurrentDirection& direction, const double* x,
               RecurrentState& state) {
  enum Gate { kInput, kOutput, kForget, kCell };
  const bool is_coupled = call.node.int_or("input_forget", 0) != 0;
  const std::int64_t hidden = direction.sizes.hidden;
  const double* peep_input = direction.peepholes;
  const double* peep_output = direction.peepholes + hidden;
  const double* peep_forget = direction.peepholes + 2 * hidden;
  std::vector<double> next(hidden);
  const auto gate = [&](Gate which, std::int64_t unit, double peep) {
    return preactivation(direction, which, unit, x, state.h.data()) + peep;
  };
  for (std::int64_t unit = 0; unit < hidden; ++unit) {
    const double old = state.c[unit];
    const double input = direction.activated(0, gate(kInput, unit, peep_input[unit] * old));
    const double forget =
        is_coupled ? 1 - input
                   : direction.activated(0, gate(kForget, unit, peep_forget[unit] * old));
    const double candidate = direction.activated(1, gate(kCell, unit, 0));
    const double cell = forget * old + input * candidate;
    const double output = direction.activated(0, gate(kOutput, unit, peep_output[unit] * cell));
    state.c[unit] = cell;
    next[unit] = output * direction.activated(2, cell);
  }
  state.h = std::move(next);
}

std::vector<Tensor> rnn(const KernelCall& call) {
  return run_recurrent(call, {1, {"Tanh"}, rnn_cell, false});
}

std::vector<Tensor> gru(const KernelCall& call) {
  return run_recurrent(call, {3, {"Sigmoid", "Tanh"}, gru_cell, false});
}

std::vector<Tensor> lstm(const KernelCall& call) {
  return run_recurrent(call, {4, {"Sigmoid", "Tanh", "Tanh"}, lstm_cell, true});
}

}  // namespace

void add_recurrent_kernels(KernelTable& table) {
  table["RNN"] = rnn;
  table["GRU"] = gru;
  table["LSTM"] = lstm;
}

}  // namespace assay
