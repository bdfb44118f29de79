// Graph to GraphProto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph.h"
#include "onnx_io/rope.h"

namespace assay::onnx {

// The file of the weights that are not stored in the model's own file.
class ExternalPlan {
 public:
  struct Placed {
    Tensor tensor;
    std::uint64_t offset = 0;
  };

  explicit ExternalPlan(std::string location) : location_(std::move(location)) {}

  static bool takes(const Tensor& tensor);  // large enough to be worth it
  std::uint64_t place(const Tensor& tensor);
  const std::string& location() const { return location_; }
  const std::vector<Placed>& placed() const { return placed_; }
  std::uint64_t size() const { return size_; }

 private:
  std::string location_;
  std::vector<Placed> placed_ = {};
  std::uint64_t size_ = 0;
};

// With `external`, large initializers are placed there instead of in the message.
Rope encode_graph(const Graph& graph, ExternalPlan* external);
Rope encode_tensor(const Tensor& tensor, std::string_view name, ExternalPlan* external);
Rope encode_type(const ValueType& type);

}  // namespace assay::onnx
