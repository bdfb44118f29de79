// What each stretch of an arena is for, while a training step runs.
#pragma once

#include <span>

#include "assay/training_profile.h"

namespace assay::profile {

// A stretch of memory as a plan or a program tells it.
struct HeldBytes {
  ValueId value;  // invalid: working space
  std::int64_t bytes = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;
};

class MemoryUses {
 public:
  // `phases` by step of whatever holds the bytes.
  MemoryUses(const TrainingStep& step, std::vector<Phase> phases);

  MemoryUse use_of(const HeldBytes& held) const;
  std::vector<BytesByUse> by_step(std::span<const HeldBytes> held) const;

 private:
  const TrainingStep& step_;
  std::vector<Phase> phases_;
  std::vector<MemoryUse> by_value_;  // as far as the value alone tells
};

}  // namespace assay::profile
