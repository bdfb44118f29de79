// Chooses among algorithms for one layer by running them.
//
// Each candidate runs a few times on memory of its own. Where the model's weights do not fit the
// caches, a candidate's are evicted before each run, because that is how the layer will meet them.
// A layer that has been seen before, shapes and all, is not measured again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "execute/memory_block.h"
#include "execute/onednn/adapter.h"

namespace assay::onednn {

// Changes of layout, from and to.
using Reorders = std::vector<std::pair<Desc, Desc>>;

class Tuner {
 public:
  // `model_bytes`: how much a whole run reads, which tells what the caches still hold.
  explicit Tuner(std::int64_t model_bytes);

  // The position of the fastest, which is remembered under `key`. Changes of layout that a choice
  // asks for, `reorders` at its position, are part of its time.
  std::size_t fastest(const std::string& key, const std::vector<Choice>& choices,
                      const std::vector<Reorders>& reorders = {});

 private:
  enum class WeightsComeFrom { Anywhere, LastCache, Memory };

  std::int64_t time_of(const Choice& choice, const Reorders& reorders, std::int64_t best_so_far);
  void evict(const MemoryBlock& weights);

  WeightsComeFrom weights_come_from_ = WeightsComeFrom::Anywhere;
  MemoryBlock evicting_;
  std::map<std::string, std::size_t> chosen_;
};

}  // namespace assay::onednn
