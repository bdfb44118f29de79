// The name each value has in a written file.
//
// ONNX finds what a subgraph captures by its name outside, and forbids a subgraph to use such a
// name for anything else: so a capture takes the outer name, and an inner value that would hide an
// outer one gets another.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assay/graph.h"

namespace assay::onnx {

class WrittenNames {
 public:
  // `around` belongs to the graph around `graph`; null for the main graph.
  WrittenNames(const Graph& graph, const WrittenNames* around);

  // Empty for an optional input or output left out.
  std::string_view of(ValueId id) const {
    return id.is_valid() ? std::string_view(names_[id.number]) : std::string_view();
  }

 private:
  bool is_visible(std::string_view name) const;  // here or further out
  void take_captured(const Graph& graph);
  void take_own(const Graph& graph);

  const WrittenNames* around_ = nullptr;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_ = {};
  std::unordered_map<std::string, int> last_suffix_ = {};  // by the name wanted
};

}  // namespace assay::onnx
