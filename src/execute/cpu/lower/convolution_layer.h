// A convolution as the graph states it: sizes, windows and weights. Made from Conv, ConvTranspose,
// QLinearConv, ConvInteger or a gradient of Conv.
#pragma once

#include "execute/cpu/lowering.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

struct ConvolutionLayer {
  NodeId id;
  Dims input;
  Dims output;
  Dims weights;  // as stored
  std::int64_t groups = 1;
  bool is_transposed = false;
  kernels::WindowGrid grid;
  bool has_bias = false;
  DataType type = DataType::Float32;  // of images and results, and of weights while it runs
  // Null where they change from run to run.
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;

  bool weights_change() const { return weight == nullptr; }
};

// Nothing where the engine has no form for it.
std::optional<ConvolutionLayer> convolution_layer_of(const Lowering& lowering, NodeId id);

// Of a QLinearConv; weights and bias are as stored, 8 and 32 bits.
std::optional<ConvolutionLayer> quantized_convolution_layer_of(const Lowering& lowering, NodeId id);

// Of a ConvInteger, whose weights are known.
std::optional<ConvolutionLayer> integer_convolution_layer_of(const Lowering& lowering, NodeId id);

// Of ConvInputGradient or ConvWeightGradient: the layer they belong to.
std::optional<ConvolutionLayer> layer_of_gradient(const Lowering& lowering, NodeId id);

// What oneDNN is asked for, with images and results in these layouts.
Convolution described(const ConvolutionLayer& layer, const Desc& source, const Desc& result);
// Everything that tells one layer from another, for the tuner.
std::string key_of(const ConvolutionLayer& layer, const Convolution& what);

// Whether an implementation is one that nobody would choose.
bool is_slow_convolution(const Choice& choice);

// As oneDNN describes weights: [groups,] outputs, inputs, kernel…
Dims described_weights(const ConvolutionLayer& layer);
Desc stored_weights(const ConvolutionLayer& layer);

// Multiplications, those with padding left out.
std::int64_t effective_macs(const ConvolutionLayer& layer);
// What an implementation really does for the layer, or for one of its gradients.
std::int64_t executed_flops(const ConvolutionLayer& layer, const Choice& choice);

}  // namespace assay::cpu
