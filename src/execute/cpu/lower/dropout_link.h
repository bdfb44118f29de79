// A Dropout in training as a link of a chain: it draws while the elements go by, and keeps no mask.
#pragma once

#include "execute/cpu/kernels/chain.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

// What is known of it before running.
struct DropoutSettings {
  double ratio = 0;
  std::uint64_t seed = 0;
  ValueId step = {};  // one int64 number; an invalid value stands for 0
};

// Nothing if the node is no Dropout that drops, or somebody reads its mask.
std::optional<DropoutSettings> dropout_settings(const Lowering& lowering, const Node& node);

// A Dropout of a chain, and where its step number is, if it has one.
struct PlacedDropout {
  std::size_t link = 0;
  DropoutSettings settings;
  std::optional<Placement> step = {};
};
std::vector<PlacedDropout> placed_dropouts(Lowering& lowering,
                                           const std::map<std::size_t, DropoutSettings>& by_link);

// The links of a chain with what the Dropouts among them draw in a run.
class RunLinks {
 public:
  RunLinks(std::vector<Link> links, std::vector<PlacedDropout> dropouts, const Addresses& at);
  // Draws by the step numbers that are in the buffers now.
  std::span<const Link> of_this_run();

 private:
  std::vector<Link> links_;
  std::vector<PlacedDropout> dropouts_;
  std::vector<const std::byte*> steps_;  // by dropout; null: it has no step number
};

}  // namespace assay::cpu
