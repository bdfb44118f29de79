// Weights in the layouts that steps want, each made once for equal tensor and layout.
//
// A weight gets its address at once, but its bytes only in `prepare`, after all steps are known:
// the largest first, so that the original and the copy of it are together in memory while there is
// little else.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/buffers.h"
#include "execute/cpu/onednn/adapter.h"
#include "execute/cpu/placement.h"
#include "execute/cpu/weight_pool.h"

namespace assay::cpu {

// A weight above this is not copied where that can be helped.
constexpr std::size_t kLargeWeight = std::size_t{64} << 20;

class Weights {
 public:
  Weights(WeightPool& pool, execute::Buffers& buffers, OptimizeFor what)
      : pool_(pool), buffers_(buffers), what_(what) {}

  // The tensor in another floating type, which stays as long as the program does; itself, if it is
  // of that type.
  Tensor in_type(const Tensor& tensor, DataType type);
  // Row-major, as the model stores it; its bytes are there at once.
  Placement stored(const Tensor& tensor);
  Placement constant_floats(const std::vector<float>& values, std::vector<std::int64_t> dims);
  // In a layout of oneDNN's.
  Placement reordered(const Tensor& tensor, const Desc& from, const Desc& to);
  // In a layout of the caller's making, whose name tells it from all others.
  using Prepare = std::function<void(const Tensor& values, std::byte* prepared)>;
  Placement prepared(const Tensor& tensor, std::string layout, std::size_t bytes,
                     const Prepare& prepare);

  // Afterwards: brings the weights into the layouts that were chosen, and lets go of them as
  // stored.
  void prepare();
  // Of weights that steps read where the model keeps them.
  std::int64_t bytes_used_as_stored() const;

 private:
  using Key = std::pair<std::pair<const Storage*, std::size_t>, std::string>;
  struct Stretch {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  struct Unprepared {
    Tensor tensor;
    Prepare prepare;
    std::byte* address = nullptr;
  };

  bool may_use_stored(const Tensor& tensor) const;
  std::byte* use_stored(const Tensor& tensor);
  std::byte* copied(const Tensor& tensor);
  bool is_used_as_stored(const Tensor& tensor) const;

  WeightPool& pool_;
  execute::Buffers& buffers_;
  OptimizeFor what_;
  std::map<Key, Placement> by_layout_;
  std::vector<Tensor>
      seen_;  // whose identity is in a key: none may be freed and its address reused
  std::map<std::pair<std::pair<const Storage*, std::size_t>, DataType>, Tensor> by_type_;
  std::map<const Storage*, std::vector<Stretch>> used_as_stored_;  // steps point into these bytes
  std::vector<Unprepared> unprepared_;
};

}  // namespace assay::cpu
