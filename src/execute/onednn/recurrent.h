// LSTM and GRU with weights packed for one token at a time: the units are dealt out in panels, each
// thread owns whole panels, and a panel's weights are read in one sweep.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::onednn {

constexpr std::int64_t kPanelUnits = 32;

// One direction of a layer.
struct RecurrentSizes {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 4;  // 4: LSTM, in ONNX's order i o f c; 3: GRU, z r h
  bool is_reverse = false;
  bool linear_before_reset = false;  // of a GRU

  std::int64_t panels() const { return (hidden + kPanelUnits - 1) / kPanelUnits; }
  std::int64_t padded() const { return panels() * kPanelUnits; }
  std::int64_t panel_width() const { return gates * kPanelUnits; }
  std::int64_t gate_row() const { return panels() * panel_width(); }
};

// Weights of one direction, rows of a panel together: gate by gate, 32 units each.
struct RecurrentWeights {
  std::vector<float> input;           // [gate_row, inputs]
  std::vector<float> recurrent;       // [panels][hidden][panel_width]
  std::vector<float> input_bias;      // [gate_row]; holds both biases wherever they just add up
  std::vector<float> recurrent_bias;  // [gate_row]
};

// From ONNX's W [gates·hidden, inputs], R [gates·hidden, hidden] and B [2·gates·hidden] (or empty).
RecurrentWeights packed_weights(const RecurrentSizes& sizes, const float* input,
                                const float* recurrent, const float* bias);

struct RecurrentBuffers {
  const float* source = nullptr;  // [steps, batch, inputs]
  const float* input_weights = nullptr;
  const float* recurrent_weights = nullptr;
  const float* input_bias = nullptr;
  const float* recurrent_bias = nullptr;
  const float* initial_hidden = nullptr;  // [batch, hidden], or null: zeros
  const float* initial_cell = nullptr;
  float* gates = nullptr;   // [steps·batch, gate_row]
  float* hidden = nullptr;  // [2][batch, padded]
  float* cell = nullptr;    // [batch, padded]; of a GRU: the gated state
  float* output = nullptr;  // [steps, directions, batch, hidden], this direction's; may be null
  std::int64_t output_step = 0;  // floats from one step's output to the next
  float* last_hidden = nullptr;  // [batch, hidden]; may be null
  float* last_cell = nullptr;
};

void run_recurrent(const RecurrentSizes& sizes, const RecurrentBuffers& buffers, int threads);

}  // namespace assay::onednn
