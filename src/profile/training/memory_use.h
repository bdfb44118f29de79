// What each block of an arena is used for while a training step runs.
#pragma once

#include <span>

#include "assay/training_profile.h"

namespace assay::profile {

// A buffer and its lifetime, from a plan or a program.
struct LiveBuffer {
  ValueId value;  // invalid: workspace
  std::int64_t bytes = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;
};

class MemoryUses {
 public:
  // `phases` by step of the plan or program.
  MemoryUses(const TrainingStep& step, std::vector<Phase> phases);

  MemoryUse use_of(const LiveBuffer& buffer) const;
  std::vector<BytesByUse> by_step(std::span<const LiveBuffer> live) const;

 private:
  std::vector<Phase> phases_;
  std::vector<MemoryUse> by_value_;  // as far as it depends on the value alone
};

}  // namespace assay::profile
