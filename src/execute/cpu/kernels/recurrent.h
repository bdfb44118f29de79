// LSTM, GRU and RNN. Units are divided into panels of 32, each thread owns whole panels, and the
// packed weights of a panel lie together, so that a time step reads them in sequence.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

constexpr std::int64_t kPanelUnits = 32;

// An activation, with its parameters.
struct GateFunction {
  UnaryOp op = UnaryOp::Copy;
  float alpha = 0;
  float beta = 0;
};

// How gates become states, where that is not as usual.
struct RecurrentForm {
  // Of an LSTM: of its gates, the candidate, the cell state. Of a GRU: of its gates, the candidate.
  std::array<GateFunction, 3> functions = {
      GateFunction{UnaryOp::Sigmoid}, GateFunction{UnaryOp::Tanh}, GateFunction{UnaryOp::Tanh}};
  bool has_usual_functions = true;  // those above, without bounds
  float clip = 0;                   // bounds what goes into activations; 0: no bound
  bool couples_forget = false;      // an LSTM's forget gate is 1 - its input gate
  bool has_peepholes = false;
  bool has_lengths = false;  // sequences may be shorter than `steps`

  bool is_usual() const {
    return has_usual_functions && !couples_forget && !has_peepholes && !has_lengths;
  }
};

// One direction of a layer.
struct RecurrentSizes {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 4;  // 4: LSTM, in ONNX's order i o f c; 3: GRU, z r h; 1: RNN
  bool is_reverse = false;
  bool linear_before_reset = false;        // of a GRU
  bool keeps_all_steps = false;            // for the backward pass
  std::optional<HalfFormat> weights = {};  // of packed matrices; nothing: floats
  RecurrentForm form = {};

  bool is_lstm() const { return gates == 4; }
  bool resets_state() const { return gates == 3 && !linear_before_reset; }
  std::int64_t panels() const { return (hidden + kPanelUnits - 1) / kPanelUnits; }
  std::int64_t padded() const { return panels() * kPanelUnits; }
  std::int64_t panel_width() const { return gates * kPanelUnits; }
  std::int64_t gate_row() const { return panels() * panel_width(); }
  std::int64_t rows() const { return steps * batch; }
  std::int64_t weight_rows() const { return gates * hidden; }  // of ONNX's matrices
  std::int64_t units_in(std::int64_t panel) const {
    return std::min(kPanelUnits, hidden - panel * kPanelUnits);
  }
  // Where a panel begins among one time's states, and among all gates.
  std::int64_t unit_at(std::int64_t row, std::int64_t panel) const {
    return row * padded() + panel * kPanelUnits;
  }
  std::int64_t gates_at(std::int64_t time, std::int64_t row, std::int64_t panel) const {
    return (time * batch + row) * gate_row() + panel * panel_width();
  }

  std::int64_t time_of(std::int64_t step) const { return is_reverse ? steps - 1 - step : step; }
  // States lie in the order of time. Those that nobody needs later take turns in two places, or in
  // one where a step may write over what it reads.
  std::int64_t state_floats() const { return batch * padded(); }
  std::int64_t before(std::int64_t time) const { return is_reverse ? time + 1 : time; }
  std::int64_t after(std::int64_t time) const { return is_reverse ? time : time + 1; }
  std::int64_t hidden_places() const { return keeps_all_steps ? steps + 1 : 2; }
  std::int64_t cell_places() const { return keeps_all_steps ? steps + (is_lstm() ? 1 : 0) : 1; }

  std::int64_t matrix_numbers() const { return gate_row() * (inputs + hidden); }
  std::int64_t packed_floats() const {
    return matrix_numbers() / (weights ? 2 : 1) + 2 * gate_row();
  }
};

// One direction's weights as ONNX stores them: W [gates·hidden, inputs], R [gates·hidden, hidden]
// and B [2·gates·hidden], which may be null.
struct PlainWeights {
  const float* input = nullptr;
  const float* recurrent = nullptr;
  const float* bias = nullptr;
};

// The part of one direction in those of all.
PlainWeights direction_of(const RecurrentSizes& sizes, std::int64_t direction,
                          const PlainWeights& all);

// Writes `packed_floats()` that a run reads.
void pack_weights(const RecurrentSizes& sizes, const PlainWeights& weights, float* packed,
                  int threads);

struct RecurrentBuffers {
  const float* source = nullptr;          // [steps, batch, inputs]
  const float* initial_hidden = nullptr;  // [batch, hidden], or null: zeros
  const float* initial_cell = nullptr;
  const float* peepholes = nullptr;  // [3, hidden] of input, output and forget gate; may be null
  const std::int32_t* lengths = nullptr;  // [batch], each of 0..steps; null: all as long as steps
  float* gates = nullptr;   // [steps·batch, gate_row]; after a run they went through activations
  float* hidden = nullptr;  // [hidden_places][batch, padded]
  // [cell_places][batch, padded]. Of a GRU: the state behind the reset gate, or with
  // linear_before_reset what comes out of the recurrent weights before it.
  float* cell = nullptr;
  float* output = nullptr;  // [steps, directions, batch, hidden], this direction's; may be null
  std::int64_t output_step = 0;  // floats from one step's output to the next
  float* last_hidden = nullptr;  // [batch, hidden]; may be null
  float* last_cell = nullptr;
};

void run_recurrent(const RecurrentSizes& sizes, const float* packed_weights,
                   const RecurrentBuffers& buffers, int threads);

// Between [batch, hidden], or null for zeros, and [batch, padded].
void load_state(const RecurrentSizes& sizes, const float* from, float* to);
void store_state(const RecurrentSizes& sizes, const float* from, float* to);

}  // namespace assay::cpu
