// Names for values that are added to a graph.
#pragma once

#include <string>
#include <unordered_set>

#include "assay/graph.h"

namespace assay::transform {

class ValueNames {
 public:
  explicit ValueNames(const Graph& graph) {
    for (const Value& value : graph.values()) taken_.insert(value.name);
  }

  std::string unique(std::string wanted) {
    while (!taken_.insert(wanted).second) wanted += "_";
    return wanted;
  }

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace assay::transform
