// Chooses among algorithms for one layer by running them.
//
// Candidates run in turns, each on memory of its own, and leave when they are clearly slower than
// the best. A candidate's time is its shortest: whatever else the machine does only adds to it.
// Where the model's weights do not fit the caches, a candidate's are evicted before each run,
// because that is how the layer will meet them. A layer that has been seen before, shapes and all,
// is not measured again.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory_block.h"
#include "execute/cpu/onednn/trial.h"
#include "execute/cpu/onednn/tuned_machine.h"

namespace assay::cpu {

struct TunerOptions {
  std::int64_t model_bytes = 0;  // that a whole run reads, which tells what the caches still hold
  int threads = 1;
  bool measures = true;  // false: the first choice, without running anything
  execute::TuningPlace file = {};
};

// Copies of weights this large would cost more memory than a better choice is worth.
bool is_too_large_to_try(const Choice& choice);

class Tuner {
 public:
  explicit Tuner(const TunerOptions& options);

  // The position of the fastest, which is remembered under `key`. Changes of layout that a choice
  // asks for, `reorders` at its position, are part of its time.
  std::size_t fastest(const std::string& key, const std::vector<Choice>& choices,
                      const std::vector<Reorders>& reorders = {});

  void save() { known_.save(); }

 private:
  class Contender;
  enum class WeightsComeFrom { Anywhere, LastCache, Memory };

  std::string question_of(const std::string& key, const std::vector<Choice>& choices,
                          const std::vector<Reorders>& reorders) const;
  std::size_t measured_fastest(const std::vector<Choice>& choices,
                               const std::vector<Reorders>& reorders);
  static bool is_settled(std::span<const std::unique_ptr<Contender>> contenders,
                         std::int64_t best_of_all, int rounds, std::int64_t spent);
  bool come_from_memory(std::span<const std::byte> weights) const;
  void evict(std::span<const std::byte> weights);

  TunerOptions options_;
  WeightsComeFrom weights_come_from_ = WeightsComeFrom::Anywhere;
  MemoryBlock evicting_;
  SpareBlocks spare_;
  execute::TuningFile known_;
};

}  // namespace assay::cpu
