// Memory for weights as the engine stores them: never moved, freed with the program.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/program.h"
#include "assay/tensor.h"
#include "base/memory_block.h"

namespace assay::cpu {

class WeightPool {
 public:
  // Weights share large blocks, on huge pages, unless memory is what counts. Behind the last huge
  // page of a block of its own, a weight would be read more slowly.
  explicit WeightPool(OptimizeFor what) : what_(what) {}
  // Aligned to a cache line.
  std::byte* allocate(std::size_t bytes);
  // Steps may point into a tensor that is not part of the graph.
  void keep(const Tensor& tensor) { kept_.push_back(tensor); }
  std::int64_t bytes() const { return bytes_; }  // handed out

 private:
  OptimizeFor what_;
  std::vector<MemoryBlock> blocks_;
  std::byte* next_ = nullptr;  // in the block that small weights share
  std::size_t left_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<Tensor> kept_;
};

}  // namespace assay::cpu
