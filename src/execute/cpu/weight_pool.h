// Memory for weights as the engine stores them: never moved, freed with the program.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/program.h"
#include "base/memory_block.h"

namespace assay::cpu {

class WeightPool {
 public:
  // Small weights share large blocks, on huge pages, unless memory is what counts.
  explicit WeightPool(OptimizeFor what) : what_(what) {}
  // Aligned to a cache line.
  std::byte* allocate(std::size_t bytes);
  std::int64_t bytes() const { return bytes_; }  // handed out

 private:
  OptimizeFor what_;
  std::vector<MemoryBlock> blocks_;
  std::byte* next_ = nullptr;  // in the block that small weights share
  std::size_t left_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace assay::cpu
