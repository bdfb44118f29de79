// The backward pass of LSTM and GRU, from what the forward pass saved of every time step.
#pragma once

#include "execute/cpu/kernels/recurrent.h"

namespace assay::cpu {

struct RecurrentGradientBuffers {
  const float* source = nullptr;  // [steps, batch, inputs]
  PlainWeights weights = {};
  // As a forward run that keeps all steps leaves them.
  const float* gates = nullptr;
  const float* hidden = nullptr;
  const float* cell = nullptr;
  // Gradients of the results; null where nobody reads them.
  const float* output = nullptr;
  std::int64_t output_step = 0;
  const float* last_hidden = nullptr;
  const float* last_cell = nullptr;
  float* workspace = nullptr;  // gradient_workspace_floats()
  // Gradients of the operands; null where nobody asks.
  float* by_source = nullptr;
  bool adds_to_source = false;  // another direction has been there before
  float* by_input_weights = nullptr;
  float* by_recurrent_weights = nullptr;
  float* by_bias = nullptr;
  float* by_initial_hidden = nullptr;
  float* by_initial_cell = nullptr;
};

std::int64_t gradient_workspace_floats(const RecurrentSizes& sizes);

void run_recurrent_gradient(const RecurrentSizes& sizes, const RecurrentGradientBuffers& buffers,
                            int threads);

}  // namespace assay::cpu
