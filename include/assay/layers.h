// The vocabulary for writing networks: `Sequential({Conv2d(1, 16, 3), Relu(), Linear(64, 10)})`.
//
// A Layer appends nodes to a graph under construction. It also converts to a Graph of its own, with
// one input whose shape is left open.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/builder.h"
#include "assay/graph.h"

namespace assay {

class Layer {
 public:
  using Append = std::function<ValueId(GraphBuilder&, ValueId)>;
  explicit Layer(Append append) : append_(std::move(append)) {}

  ValueId operator()(GraphBuilder& builder, ValueId input) const { return append_(builder, input); }
  operator Graph() const;  // NOLINT: a layer is a model

 private:
  Append append_;
};

struct LinearOptions {
  bool bias = true;
  std::string name = "linear";
};
// y = x·W + b over the last axis, for inputs of any rank (Gemm where the rank is known to be 2).
Layer Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options = {});

struct Conv2dOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::string name = "conv";
};
Layer Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel,
             Conv2dOptions options = {});

struct PoolOptions {
  std::int64_t stride = 0;  // 0: the kernel's size
  std::int64_t padding = 0;
  std::string name = "pool";
};
Layer MaxPool2d(std::int64_t kernel, const PoolOptions& options = {});
Layer AvgPool2d(std::int64_t kernel, const PoolOptions& options = {});
Layer GlobalAvgPool2d(std::string name = "global_pool");

// `scale` is what every weight starts with; residual branches start below 1 to keep sums small.
Layer BatchNorm2d(std::int64_t channels, std::string name = "bn", float scale = 1.0f);
Layer LayerNorm(std::int64_t width, std::string name = "norm", float epsilon = 1e-5f);
Layer Relu(std::string name = "relu");
Layer Relu6(std::string name = "relu6");
Layer Sigmoid(std::string name = "sigmoid");
Layer Tanh(std::string name = "tanh");
Layer Gelu(std::string name = "gelu");      // exact: x/2 · (1 + erf(x/√2))
Layer GeluTanh(std::string name = "gelu");  // the tanh approximation, as in GPT-2
Layer Softmax(std::int64_t axis = -1, std::string name = "softmax");
Layer Flatten(std::string name = "flatten");
Layer Dropout(float ratio = 0.5f, std::string name = "dropout");  // does nothing at inference

Layer Sequential(std::vector<Layer> layers);

}  // namespace assay
