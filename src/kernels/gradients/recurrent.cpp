// RnnGradient, GruGradient and LstmGradient: inputs are those of the op, then the gradients of its
// results, any of which may be left out; results are the gradients of X, W, R, B, initial_h, and of
// an LSTM's initial_c and P. The forward pass is computed again, then the steps are differentiated
// in reverse order.
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"
#include "kernels/recurrent_cells.h"

namespace assay::kernels {

namespace {

// One step of one sequence: adds the gradients of its sums to those of weights, input and state.
class StepBack {
 public:
  StepBack(const RecurrentDirection& forward, const RecurrentOperands& operands,
           RecurrentNumbers& gradients)
      : forward_(forward), operands_(operands.numbers), gradients_(gradients) {}

  const RecurrentDirection& forward() const { return forward_; }
  const double* x() const { return x_; }
  void set_input(std::int64_t place) {
    x_ = operands_.input.data() + place;
    x_gradient_ = gradients_.input.data() + place;
  }

  // For W·x and its bias.
  void to_input(std::int64_t gate, std::int64_t unit, double delta) {
    const std::int64_t row = forward_.row(gate, unit);
    const std::int64_t features = forward_.sizes.features;
    const double* weight = forward_.weight + row * features;
    double* sums = beside(forward_.weight, operands_.weight, gradients_.weight) + row * features;
    for (std::int64_t i = 0; i < features; ++i) {
      sums[i] += delta * x_[i];
      x_gradient_[i] += delta * weight[i];
    }
    bias()[row] += delta;
  }

  // For R·h and its bias.
  void to_state(std::int64_t gate, std::int64_t unit, double delta, const std::vector<double>& h,
                std::vector<double>& h_gradient) {
    const std::int64_t row = forward_.row(gate, unit);
    const std::int64_t first = row * forward_.sizes.hidden;
    const double* weight = forward_.recurrence + first;
    double* sums = beside(forward_.recurrence, operands_.recurrence, gradients_.recurrence) + first;
    for (std::size_t i = 0; i < h.size(); ++i) {
      sums[i] += delta * h[i];
      h_gradient[i] += delta * weight[i];
    }
    bias()[forward_.sizes.rows() + row] += delta;
  }

  void to_both(std::int64_t gate, std::int64_t unit, double delta, const std::vector<double>& h,
               std::vector<double>& h_gradient) {
    to_input(gate, unit, delta);
    to_state(gate, unit, delta, h, h_gradient);
  }

  // For the product of a peephole and a cell state.
  void to_peephole(std::int64_t gate, std::int64_t unit, double product) {
    beside(forward_.peepholes, operands_.peepholes,
           gradients_.peepholes)[forward_.row(gate, unit)] += product;
  }

 private:
  // Where the gradients of a direction's weights begin; they have the layout of the weights.
  static double* beside(const double* at, const std::vector<double>& numbers,
                        std::vector<double>& gradients) {
    return gradients.data() + (at - numbers.data());
  }
  double* bias() { return beside(forward_.bias, operands_.bias, gradients_.bias); }

  const RecurrentDirection& forward_;
  const RecurrentNumbers& operands_;
  RecurrentNumbers& gradients_;
  const double* x_ = nullptr;
  double* x_gradient_ = nullptr;
};

// `gradient` is that of the state after the step, and becomes that of `before`.
using CellBack = void (*)(const KernelCall& call, StepBack& step, const RecurrentState& before,
                          RecurrentState& gradient);

void rnn_back(const KernelCall&, StepBack& step, const RecurrentState& before,
              RecurrentState& gradient) {
  std::vector<double> h_gradient(before.h.size());
  for (std::int64_t unit = 0; unit < step.forward().sizes.hidden; ++unit) {
    const Gate gate = rnn_unit(step.forward(), unit, step.x(), before.h.data());
    const double delta = gradient.h[unit] * step.forward().slope(0, gate.sum);
    step.to_both(0, unit, delta, before.h, h_gradient);
  }
  gradient.h = std::move(h_gradient);
}

// The backward pass of the candidates; returns the gradients of the reset gates' values.
std::vector<double> candidates_back(StepBack& step, const GruStep& at,
                                    const std::vector<double>& deltas, const std::vector<double>& h,
                                    std::vector<double>& h_gradient) {
  std::vector<double> resets(h.size());
  std::vector<double> reset_state(h.size());
  for (std::size_t unit = 0; unit < h.size(); ++unit) {
    const auto number = static_cast<std::int64_t>(unit);
    step.to_input(kGruHidden, number, deltas[unit]);
    if (at.resets_after) {
      step.to_state(kGruHidden, number, deltas[unit] * at.reset[unit].value, h, h_gradient);
      resets[unit] = deltas[unit] * at.recurrent[unit];
    } else {
      step.to_state(kGruHidden, number, deltas[unit], at.reset_state, reset_state);
    }
  }
  for (std::size_t unit = 0; !at.resets_after && unit < h.size(); ++unit) {
    resets[unit] = reset_state[unit] * h[unit];
    h_gradient[unit] += reset_state[unit] * at.reset[unit].value;
  }
  return resets;
}

void gru_back(const KernelCall& call, StepBack& step, const RecurrentState& before,
              RecurrentState& gradient) {
  const RecurrentDirection& forward = step.forward();
  const GruStep at = gru_step(call, forward, step.x(), before.h);
  std::vector<double> candidates;
  std::vector<double> h_gradient;
  for (std::size_t unit = 0; unit < before.h.size(); ++unit) {
    const double update = at.update[unit].value;
    const double slope = forward.slope(1, at.candidate[unit].sum);
    candidates.push_back(gradient.h[unit] * (1 - update) * slope);
    h_gradient.push_back(gradient.h[unit] * update);
  }
  const auto resets = candidates_back(step, at, candidates, before.h, h_gradient);
  for (std::int64_t unit = 0; unit < forward.sizes.hidden; ++unit) {
    const double update = gradient.h[unit] * (before.h[unit] - at.candidate[unit].value);
    step.to_both(kGruUpdate, unit, update * forward.slope(0, at.update[unit].sum), before.h,
                 h_gradient);
    step.to_both(kGruReset, unit, resets[unit] * forward.slope(0, at.reset[unit].sum), before.h,
                 h_gradient);
  }
  gradient.h = std::move(h_gradient);
}

// Gradients of the sums behind one unit's gates, and of its cell state before the step.
struct LstmDeltas {
  double input = 0;
  double output = 0;
  double forget = 0;
  double candidate = 0;
  double old_cell = 0;
};

LstmDeltas lstm_deltas(const RecurrentDirection& forward, std::int64_t unit, const LstmUnit& at,
                       double old_cell, double h_gradient, double c_gradient) {
  LstmDeltas deltas;
  deltas.output = h_gradient * at.squashed.value * forward.slope(0, at.output.sum);
  const double cell = c_gradient + deltas.output * forward.peephole(kLstmOutput, unit) +
                      h_gradient * at.output.value * forward.slope(2, at.squashed.sum);
  const double forget = cell * old_cell;
  const double input = cell * at.candidate.value - (at.is_coupled ? forget : 0);
  deltas.input = input * forward.slope(0, at.input.sum);
  deltas.forget = at.is_coupled ? 0 : forget * forward.slope(0, at.forget.sum);
  deltas.candidate = cell * at.input.value * forward.slope(1, at.candidate.sum);
  deltas.old_cell = cell * at.forget.value + deltas.input * forward.peephole(kLstmInput, unit) +
                    deltas.forget * forward.peephole(kLstmForget, unit);
  return deltas;
}

void lstm_back(const KernelCall& call, StepBack& step, const RecurrentState& before,
               RecurrentState& gradient) {
  std::vector<double> h_gradient(before.h.size());
  for (std::int64_t unit = 0; unit < step.forward().sizes.hidden; ++unit) {
    const LstmUnit at = lstm_unit(call, step.forward(), unit, step.x(), before);
    const double old = before.c[unit];
    const LstmDeltas deltas =
        lstm_deltas(step.forward(), unit, at, old, gradient.h[unit], gradient.c[unit]);
    step.to_both(kLstmInput, unit, deltas.input, before.h, h_gradient);
    step.to_both(kLstmOutput, unit, deltas.output, before.h, h_gradient);
    step.to_both(kLstmForget, unit, deltas.forget, before.h, h_gradient);
    step.to_both(kLstmCell, unit, deltas.candidate, before.h, h_gradient);
    step.to_peephole(kLstmInput, unit, deltas.input * old);
    step.to_peephole(kLstmForget, unit, deltas.forget * old);
    step.to_peephole(kLstmOutput, unit, deltas.output * at.squashed.sum);
    gradient.c[unit] = deltas.old_cell;
  }
  gradient.h = std::move(h_gradient);
}

// The gradient of one of the op's results; zeros where it is left out.
std::vector<double> given_gradient(const KernelCall& call, std::size_t input, const Dims& dims) {
  if (!call.has(input)) return std::vector<double>(result_elements(call, dims));
  if (call.input(input).dims() != dims)
    call.fail("the result is {}, its gradient {}", join_dims(dims),
              join_dims(call.input(input).dims()));
  return load_real(call, call.input(input));
}

RecurrentNumbers zeros_like(const RecurrentNumbers& numbers) {
  const auto zeros = [](const std::vector<double>& like) {
    return std::vector<double>(like.size());
  };
  return {zeros(numbers.input),      zeros(numbers.weight),
          zeros(numbers.recurrence), zeros(numbers.bias),
          zeros(numbers.peepholes),  {zeros(numbers.first.h), zeros(numbers.first.c)}};
}

// One tensor for each operand; those of operands left out stay empty.
std::vector<Tensor> stored(const KernelCall& call, const RecurrentOp& op,
                           const RecurrentNumbers& gradients) {
  std::vector<Tensor> results;
  const auto store = [&](std::size_t input, const std::vector<double>& numbers) {
    const std::size_t output = results.size();
    if (!call.has(input) && call.node.has_output(output))
      call.fail("input {} is missing, its gradient is asked for", input);
    results.push_back(call.has(input)
                          ? store_real(call.input(input).type(), call.input(input).dims(), numbers)
                          : Tensor());
  };
  store(0, gradients.input);
  store(1, gradients.weight);
  store(2, gradients.recurrence);
  store(3, gradients.bias);
  store(5, gradients.first.h);
  if (!op.has_cell_state) return results;
  store(6, gradients.first.c);
  store(7, gradients.peepholes);
  return results;
}

class RecurrentBackward {
 public:
  RecurrentBackward(const KernelCall& call, const RecurrentOp& op, CellBack cell_back)
      : call_(call), op_(op), cell_back_(cell_back), operands_(call, op) {
    const std::size_t first = op.has_cell_state ? 8 : 6;  // after the op's own inputs
    const Dims states = operands_.layout.state_dims();
    results_ = given_gradient(call, first, operands_.layout.result_dims());
    gradients_ = zeros_like(operands_.numbers);
    gradients_.first.h = given_gradient(call, first + 1, states);
    if (op.has_cell_state) gradients_.first.c = given_gradient(call, first + 2, states);
  }

  std::vector<Tensor> run() {
    for (const RecurrentSequence& sequence : operands_.sequences()) run_back(sequence);
    return stored(call_, op_, gradients_);
  }

 private:
  // The states before every step.
  std::vector<RecurrentState> states_of(const RecurrentSequence& sequence,
                                        const RecurrentDirection& direction) const {
    std::vector<RecurrentState> states = {
        operands_.numbers.first.taken(sequence.state_place(), operands_.layout.sizes.hidden)};
    for (std::int64_t i = 0; i + 1 < sequence.length; ++i) {
      states.push_back(states.back());
      op_.cell(call_, direction, operands_.numbers.input.data() + sequence.input_place(i),
               states.back());
    }
    return states;
  }

  // The gradient of the sequence's last state becomes that of its first.
  void run_back(const RecurrentSequence& sequence) {
    const RecurrentDirection direction = operands_.direction(sequence.direction);
    const auto states = states_of(sequence, direction);
    RecurrentState gradient =
        gradients_.first.taken(sequence.state_place(), operands_.layout.sizes.hidden);
    StepBack step(direction, operands_, gradients_);
    for (std::int64_t i = sequence.length; i-- > 0;) {
      const double* result = results_.data() + sequence.result_place(i);
      for (double& number : gradient.h) number += *result++;
      step.set_input(sequence.input_place(i));
      cell_back_(call_, step, states[static_cast<std::size_t>(i)], gradient);
    }
    gradients_.first.put(sequence.state_place(), gradient);
  }

  const KernelCall& call_;
  const RecurrentOp& op_;
  CellBack cell_back_ = nullptr;
  RecurrentOperands operands_;
  std::vector<double> results_;
  RecurrentNumbers gradients_;  // `first` holds those of the last states until a sequence is done
};

template <RecurrentOp (*op_of)(), CellBack cell_back>
std::vector<Tensor> recurrent_gradient(const KernelCall& call) {
  const RecurrentOp op = op_of();
  return RecurrentBackward(call, op, cell_back).run();
}

}  // namespace

void add_recurrent_gradient_kernels(KernelTable& table) {
  table["RnnGradient"] = recurrent_gradient<rnn_op, rnn_back>;
  table["GruGradient"] = recurrent_gradient<gru_op, gru_back>;
  table["LstmGradient"] = recurrent_gradient<lstm_op, lstm_back>;
}

}  // namespace assay::kernels
