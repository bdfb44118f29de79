// Combines counted and measured figures into a Profile.
#pragma once

#include "assay/profile.h"
#include "profile/observe.h"
#include "profile/prepared.h"

namespace assay::profile {

// Known before the model runs.
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

Facts known_before(Prepared& prepared);  // moves what it takes; the graph stays

// Facts about a program, kept after it is destroyed.
struct ProgramFacts {
  std::vector<StepInfo> steps;
  ProfileMemory memory;
  int threads = 0;
  bool is_reference = false;  // all steps run plain kernels
};
ProgramFacts facts_of(const Program& program);

// "drift: the median rose by 8 %; let the machine warm up"
std::string warning_text(const TimingWarning& warning);

Profile assemble(Facts facts, const ProgramFacts& program, Observation seen);

}  // namespace assay::profile
