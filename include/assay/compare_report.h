// Two models, or two stored profiles, side by side, with a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/comparison.h"

namespace assay {

// What a comparison needs of a profile written by `profile_json`.
struct StoredProfile {
  std::string model;
  std::vector<double> samples_ms;
  double median_ms = 0;
  std::int64_t batch = 1;
  int threads = 0;
  std::int64_t parameters = 0;
  std::int64_t flops = 0;
  // Of layers with parameters or MACs; missing in files of older versions.
  std::optional<std::int64_t> estimated_total_bytes = {};
  std::optional<std::int64_t> estimated_total_macs = {};
  std::int64_t peak_memory_bytes = 0;
  std::optional<std::int64_t> peak_rss_growth_bytes = {};
  std::string verdict;
};

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
