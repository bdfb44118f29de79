// Many mutants in child processes, so that one that crashes or hangs is recorded and the rest go
// on.
#pragma once

#include <cstdint>
#include <filesystem>

#include "execution/seeds.h"

namespace assay::fuzz {

struct CampaignOptions {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;  // number of the first mutant
  std::uint64_t mutants = 1000;
  int workers = 1;
  std::filesystem::path findings = "findings";
};

struct Counts {
  std::uint64_t refused = 0;
  std::uint64_t too_large = 0;
  std::uint64_t ran = 0;
  std::uint64_t crashed = 0;  // or threw what is no Error, or asked for memory nobody needs
  std::uint64_t hung = 0;

  std::uint64_t mutants() const { return refused + too_large + ran + crashed + hung; }
};

// Mutants are numbered: one is the same whatever ran before it. Findings are written to files
// NUMBER.onnx and NUMBER.txt, and told on stderr as they come.
Counts run_campaign(const std::vector<Seed>& seeds, const CampaignOptions& options);

}  // namespace assay::fuzz
