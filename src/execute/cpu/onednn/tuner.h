// Chooses among algorithms for one layer by running them.
//
// Each candidate runs a few times on memory of its own; those that come close to the best run again
// in turns. Where the model's weights do not fit the caches, a candidate's are evicted before each
// run, because that is how the layer will meet them. A layer that has been seen before, shapes and
// all, is not measured again.
#pragma once

#include <string>
#include <vector>

#include "base/memory_block.h"
#include "execute/cpu/onednn/adapter.h"
#include "execute/cpu/onednn/tuning_file.h"

namespace assay::cpu {

// Changes of layout, from and to.
using Reorders = std::vector<std::pair<Desc, Desc>>;

struct TunerOptions {
  std::int64_t model_bytes = 0;  // that a whole run reads, which tells what the caches still hold
  int threads = 1;
  bool measures = true;  // false: the first choice, without running anything
  std::filesystem::path file = {};
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
  enum class WeightsComeFrom { Anywhere, LastCache, Memory };

  std::string question_of(const std::string& key, const std::vector<Choice>& choices,
                          const std::vector<Reorders>& reorders) const;
  std::size_t measured_fastest(const std::vector<Choice>& choices,
                               const std::vector<Reorders>& reorders);
  std::int64_t time_of(const Choice& choice, const Reorders& reorders, std::int64_t best_so_far);
  bool come_from_memory(const MemoryBlock& weights) const;
  void evict(const MemoryBlock& weights);

  TunerOptions options_;
  WeightsComeFrom weights_come_from_ = WeightsComeFrom::Anywhere;
  MemoryBlock evicting_;
  TuningFile known_;
};

}  // namespace assay::cpu
