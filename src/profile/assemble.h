// Puts what was counted beside what was seen: every figure of a Profile that is derived from both.
#pragma once

#include "assay/profile.h"
#include "profile/observe.h"

namespace assay::profile {

// What is known of the model before it runs.
struct Facts {
  ModelSummary model;
  std::int64_t batch = 1;
  CostTotals totals;
  std::int64_t peak_activation_bytes = 0;
  std::int64_t stored_bytes = 0;
  std::vector<UncountedOp> uncounted;
  std::vector<ProfileLayer> layers;  // without times
  std::vector<std::string> warnings;
};

// What a program was, kept when it is gone.
struct ProgramFacts {
  std::vector<StepInfo> steps;
  ProfileMemory memory;
  int threads = 0;
};
ProgramFacts facts_of(const Program& program);

Profile assemble(Facts facts, ProgramFacts program, Observation seen);

}  // namespace assay::profile
