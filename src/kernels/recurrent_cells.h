// One step of RNN, GRU and LSTM by the equations of the ONNX specification, with all that
// the backward pass needs of it.
#pragma once

#include "kernels/recurrent.h"

namespace assay::kernels {

// An activation's input and result.
struct Gate {
  double sum = 0;
  double value = 0;
};

// The order of gates in weights and biases; peepholes have that of the first three.
enum GruGate { kGruUpdate, kGruReset, kGruHidden };
enum LstmGate { kLstmInput, kLstmOutput, kLstmForget, kLstmCell };

Gate rnn_unit(const RecurrentDirection& direction, std::int64_t unit, const double* x,
              const double* h);

// All units of a GRU: a candidate needs every unit's reset. The reset gate acts on the state before
// the recurrence weight, or on what comes out of it.
struct GruStep {
  bool resets_after = false;
  std::vector<Gate> update = {};
  std::vector<Gate> reset = {};
  std::vector<Gate> candidate = {};
  std::vector<double> reset_state = {};
  std::vector<double> recurrent = {};  // what comes out of the candidate's recurrence weight
};

GruStep gru_step(const KernelCall& call, const RecurrentDirection& direction, const double* x,
                 const std::vector<double>& h);

struct LstmUnit {
  bool is_coupled = false;  // the forget gate is 1 - the input gate
  Gate input = {};
  Gate output = {};
  Gate forget = {};
  Gate candidate = {};
  Gate squashed = {};  // its sum is the new cell state
};

// `state` before the step; its cell states up to `unit` may be new already.
LstmUnit lstm_unit(const KernelCall& call, const RecurrentDirection& direction, std::int64_t unit,
                   const double* x, const RecurrentState& state);

RecurrentOp rnn_op();
RecurrentOp gru_op();
RecurrentOp lstm_op();

}  // namespace assay::kernels
