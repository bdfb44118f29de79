// Two models, or two stored profiles, side by side, with a verdict.
#pragma once

#include <string>
#include <vector>

#include "assay/comparison.h"
#include "assay/profile_report.h"

namespace assay {

struct ComparedSide {
  StoredProfile profile;                       // of its last process
  std::vector<ProcessSamples> processes = {};  // in milliseconds
};

struct ModelComparison {
  ComparedSide a;
  ComparedSide b;
  Comparison result;
  double threshold = 0.01;   // a smaller change is noise
  bool interleaved = true;   // pairs of processes in turns; false for stored profiles
  bool interrupted = false;  // fewer pairs than wanted
  std::vector<std::string> warnings = {};
};

std::string compare_table(const ModelComparison& comparison);
std::string compare_json(const ModelComparison& comparison);

}  // namespace assay
