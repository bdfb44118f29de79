// Finds nodes of a model by the names that runtimes give to their kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "assay/graph.h"

namespace assay::profile {

class NodeNames {
 public:
  explicit NodeNames(const Graph& graph);

  // The number of the root node with this name, or that writes the tensor of this name, or whose
  // body has such a node.
  std::optional<std::uint32_t> exactly(const std::string& name) const;
  // The same for a name that was extended by an optimization: "conv1_nchwc",
  // "conv1/LayerNormFusion". The longest beginning that ends at a separator and is a name counts,
  // unless it is only an operator's name, which runtimes use for nodes of their own.
  std::optional<std::uint32_t> extended(std::string_view name) const;

 private:
  void add_bodies(const Node& node, std::uint32_t root);

  std::unordered_map<std::string, std::uint32_t> roots_;
};

}  // namespace assay::profile
