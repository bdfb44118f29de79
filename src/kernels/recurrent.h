// What RNN, GRU and LSTM share: their sizes, directions and layouts, and the walk over time steps.
// A cell supplies one step of one sequence; everything is computed in double.
#pragma once

#include <vector>

#include "kernels/named_activation.h"
#include "kernels/shape_math.h"

namespace assay {

struct RecurrentSizes {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t features = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool batch_first = false;
};

// Everything a cell reads in one direction. Weights of gate `g` are rows g·hidden … of `weight`
// and `recurrence`; absent biases and peepholes are zeros.
struct RecurrentDirection {
  RecurrentSizes sizes = {};
  const double* weight = nullptr;      // gates · hidden × features
  const double* recurrence = nullptr;  // gates · hidden × hidden
  const double* bias = nullptr;        // gates · hidden for the input, then for the recurrence
  const double* peepholes = nullptr;   // 3 · hidden: input, output and forget gate of an LSTM
  std::int64_t gates = 1;
  std::span<const NamedActivation> activations = {};
  double clip = 0;  // bounds the input of every activation; 0 where there is no bound

  double from_input(std::int64_t gate, std::int64_t unit, const double* x) const;
  double from_state(std::int64_t gate, std::int64_t unit, const double* h) const;
  double input_bias(std::int64_t gate, std::int64_t unit) const;
  double state_bias(std::int64_t gate, std::int64_t unit) const;
  double activated(std::size_t function, double x) const;
};

// What a sequence carries from step to step.
struct RecurrentState {
  std::vector<double> h = {};
  std::vector<double> c = {};  // of an LSTM
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

std::vector<Tensor> run_recurrent(const KernelCall& call, const RecurrentOp& op);

}  // namespace assay
