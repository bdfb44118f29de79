// What RNN, GRU and LSTM and their gradients share: sizes, directions and layouts, and the position
// of each step of each sequence. A cell supplies one step of one sequence; everything is computed
// in double.
#pragma once

#include <vector>

#include "kernels/named_activation.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

struct RecurrentSizes {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  std::int64_t gates = 1;
  bool batch_first = false;

  std::int64_t rows() const { return gates * hidden; }  // of each direction's weights
};

// Where sequences, results and states lie in their tensors, in either layout.
struct RecurrentLayout {
  RecurrentSizes sizes = {};

  std::int64_t input_row(std::int64_t step, std::int64_t sample) const;
  std::int64_t result_row(std::int64_t step, std::int64_t direction, std::int64_t sample) const;
  std::int64_t state_row(std::int64_t direction, std::int64_t sample) const;
  Dims result_dims() const;
  Dims state_dims() const;
};

// Everything a cell reads in one direction. Weights of gate `g` are rows g·hidden … of `weight`
// and `recurrence`; absent biases and peepholes are zeros.
struct RecurrentDirection {
  RecurrentSizes sizes = {};
  const double* weight = nullptr;      // gates · hidden × features
  const double* recurrence = nullptr;  // gates · hidden × hidden
  const double* bias = nullptr;        // gates · hidden for the input, then for the recurrence
  const double* peepholes = nullptr;   // 3 · hidden: input, output and forget gate of an LSTM
  std::span<const NamedActivation> activations = {};
  double clip = 0;  // bounds the input of every activation; 0 where there is no bound

  std::int64_t row(std::int64_t gate, std::int64_t unit) const {
    return gate * sizes.hidden + unit;
  }
  double from_input(std::int64_t gate, std::int64_t unit, const double* x) const;
  double from_state(std::int64_t gate, std::int64_t unit, const double* h) const;
  double input_bias(std::int64_t gate, std::int64_t unit) const { return bias[row(gate, unit)]; }
  double state_bias(std::int64_t gate, std::int64_t unit) const {
    return bias[sizes.rows() + row(gate, unit)];
  }
  double peephole(std::int64_t gate, std::int64_t unit) const { return peepholes[row(gate, unit)]; }
  double activated(std::size_t function, double x) const;
  double slope(std::size_t function, double x) const;  // of `activated` at x
};

// The state that a sequence carries from step to step, or that of all sequences.
struct RecurrentState {
  std::vector<double> h = {};
  std::vector<double> c = {};  // of an LSTM

  // Extracts the state of one sequence, and stores it again.
  RecurrentState taken(std::int64_t place, std::int64_t hidden) const;
  void put(std::int64_t place, const RecurrentState& one);
};

// One step: reads `x` (features) and replaces the state.
using RecurrentCell = void (*)(const KernelCall& call, const RecurrentDirection& direction,
                               const double* x, RecurrentState& state);

struct RecurrentOp {
  std::int64_t gates = 1;
  std::vector<std::string> activations = {};  // their default names
  RecurrentCell cell = nullptr;
  bool has_cell_state = false;  // an LSTM: also input 6 and output 2, and peepholes as input 7
};

// One sequence of the batch in one direction: where its steps lie, in the order they run.
struct RecurrentSequence {
  RecurrentLayout layout = {};
  std::int64_t direction = 0;
  std::int64_t sample = 0;
  std::int64_t length = 0;
  bool is_reversed = false;

  std::int64_t step(std::int64_t i) const { return is_reversed ? length - 1 - i : i; }
  std::int64_t input_place(std::int64_t i) const {
    return layout.input_row(step(i), sample) * layout.sizes.features;
  }
  std::int64_t result_place(std::int64_t i) const {
    return layout.result_row(step(i), direction, sample) * layout.sizes.hidden;
  }
  std::int64_t state_place() const {
    return layout.state_row(direction, sample) * layout.sizes.hidden;
  }
};

// Numbers for each operand: the operands themselves, or their gradients.
struct RecurrentNumbers {
  std::vector<double> input = {};
  std::vector<double> weight = {};
  std::vector<double> recurrence = {};
  std::vector<double> bias = {};
  std::vector<double> peepholes = {};
  RecurrentState first = {};  // the states that sequences start with
};

// Inputs 0 to 7 of a recurrent op; omitted ones are zeros. Fails if shapes do not match.
struct RecurrentOperands {
  RecurrentOperands(const KernelCall& call, const RecurrentOp& op);

  RecurrentLayout layout = {};
  RecurrentNumbers numbers = {};
  Dims lengths = {};
  std::vector<NamedActivation> activations = {};
  double clip = 0;
  bool is_reverse = false;

  RecurrentDirection direction(std::int64_t direction) const;
  std::vector<RecurrentSequence> sequences() const;
};

std::vector<Tensor> run_recurrent(const KernelCall& call, const RecurrentOp& op);

}  // namespace assay::kernels
