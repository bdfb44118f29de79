// Convolutions by cuDNN's graph API: the convolution, and what follows it element by element (an
// addition, a bias, an activation), as one graph of operations. The library proposes engines that
// compute the graph; which is fastest is for the caller to measure.
//
// A graph that no engine supports is an Error, as is every failed call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cudnn_descriptor.h"
#include "gpu/number_type.h"

namespace assay::gpu {

// An image [batch, channels, spatial…] or weights [filters, channels of a group, spatial…], in any
// layout.
struct CudnnTensor {
  std::vector<std::int64_t> dims = {};
  std::vector<std::int64_t> strides = {};
  std::int64_t alignment = 16;  // bytes, of the first element's address
};

enum class CudnnActivation { None, Relu, ClippedRelu, Sigmoid, Tanh, Swish, Gelu, GeluTanh };

struct CudnnConvolution {
  NumberType type = NumberType::Float32;
  Float32Math math = Float32Math::Real;
  // The result is what a convolution's input would be: its backward pass for data.
  bool is_transposed = false;
  // The result is what its weights would be, and `weight` the gradient of its result.
  bool is_weight_gradient = false;
  CudnnTensor image = {};
  CudnnTensor weight = {};
  CudnnTensor result = {};
  std::vector<std::int64_t> pads_begin = {};
  std::vector<std::int64_t> pads_end = {};
  std::vector<std::int64_t> strides = {};
  std::vector<std::int64_t> dilations = {};

  // result = activation(convolution + added + bias), as far as they are there.
  std::optional<CudnnTensor> added = {};
  bool multiplies_added_by_0 = false;  // some engines know the graph only with an addition
  bool has_bias = false;               // a number for each channel of the result
  std::int64_t bias_alignment = 16;
  CudnnActivation activation = CudnnActivation::None;
  double lower = 0;  // of a clipped ReLU
  double upper = 0;
};

struct CudnnOperands {
  DevicePointer image = 0;
  DevicePointer weight = 0;
  DevicePointer added = 0;
  DevicePointer bias = 0;
  DevicePointer result = 0;
  DevicePointer workspace = 0;
};

// An engine with its settings, compiled if it is one that compiles.
class CudnnPlan {
 public:
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  // The call, once its operands have addresses. It can be captured, and made any number of times.
  std::function<void(const Stream&)> bind(const CudnnOperands& operands) const;

 private:
  friend class CudnnGraph;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
  std::int64_t workspace_bytes_ = 0;
};

class CudnnGraph {
 public:
  // Asks the library's heuristics for engines. Those that are not deterministic are left out, and
  // those that compute in fewer bits than asked for.
  CudnnGraph(std::shared_ptr<const CudnnHandle> handle, const CudnnConvolution& convolution);

  struct Engine {
    std::string name = "";  // "cudnn engine 38"
    std::string key = "";   // with all its settings
    // What its notes say of the algorithm; not every engine that is one of these has a note.
    bool is_fft = false;
    bool is_winograd = false;
    std::int64_t winograd_tile = 0;  // its edge, transformed: 4 of F(2x2, 3x3); 0: no word
  };
  // Those that the library takes for fast, the fastest first.
  const std::vector<Engine>& engines() const { return engines_; }
  // May take a moment; throws if the engine does not support the graph after all.
  CudnnPlan plan(std::size_t engine) const;

 private:
  struct Graph;
  void add_engines(int heuristic, std::size_t most);
  void add_engine(CudnnDescriptor configuration);

  std::shared_ptr<const CudnnHandle> handle_;
  CudnnConvolution convolution_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Engine> engines_;
  std::vector<std::shared_ptr<const CudnnDescriptor>> configurations_;  // by engine
};

}  // namespace assay::gpu
