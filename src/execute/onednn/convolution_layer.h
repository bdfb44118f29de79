// A Conv or ConvTranspose as the graph states it: sizes, windows and weights.
#pragma once

#include "execute/onednn/lowering.h"
#include "kernels/window_grid.h"

namespace assay::onednn {

struct ConvolutionLayer {
  NodeId id;
  Dims input;
  Dims output;
  Dims weights;  // as stored
  std::int64_t groups = 1;
  bool is_transposed = false;
  WindowGrid grid;
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;
};

// Nothing where the engine has no form for it.
std::optional<ConvolutionLayer> convolution_layer_of(const Lowering& lowering, NodeId id);

// As oneDNN describes weights: [groups,] outputs, inputs, kernel…
Dims described_weights(const ConvolutionLayer& layer);
Desc stored_weights(const ConvolutionLayer& layer);

// Multiplications, those with padding left out.
std::int64_t effective_macs(const ConvolutionLayer& layer);

}  // namespace assay::onednn
