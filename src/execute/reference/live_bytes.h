// Counts the bytes of tensors that are alive while a graph is interpreted, and remembers the most.
//
// Tensors that share their bytes count once, strings count nothing, and so does working memory
// inside a kernel: the peak is what the values of the graph took, not what the process took.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "assay/graph.h"
#include "execute/reference/runtime_value.h"

namespace assay::reference {

class LiveBytes {
 public:
  // Weights are no activations: they and views of them never count.
  void ignore_stored(const Graph& graph);
  void hold(const RuntimeValue& value);
  void drop(const RuntimeValue& value);  // must have been held before

  std::int64_t peak() const { return peak_; }
  void forget_all();  // a run that failed dropped nothing

 private:
  struct TensorUse {
    std::int64_t users = 0;
    std::int64_t bytes = 0;
    bool is_stored = false;
  };

  void change(const RuntimeValue& value, std::int64_t by);
  void change(const Tensor& tensor, std::int64_t by);

  std::unordered_map<const std::byte*, TensorUse> uses_;
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace assay::reference
