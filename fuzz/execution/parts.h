// A graph taken apart, so that any part of it can be changed, and put together again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::fuzz {

struct Parts {
  std::string name = {};
  std::map<std::string, std::int64_t> opsets = {};
  std::vector<Value> values = {};
  std::vector<Node> nodes = {};
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
  std::vector<Initializer> initializers = {};
  std::vector<Capture> captures = {};

  ValueId add_value(const std::string& value_name, ValueType type);
  Initializer* initializer(ValueId value);  // null where it is not stored
};

Parts taken_apart(const Graph& graph);
Graph put_together(const Parts& parts);

}  // namespace assay::fuzz
