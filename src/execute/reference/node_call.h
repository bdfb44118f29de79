// One node by its plain kernel, as a step of an engine that has no form for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "execute/reference/interpreter.h"

namespace assay::reference {

struct NodeCall {
  std::shared_ptr<const NodeEvaluator> evaluator;
  std::vector<ValueId> reads;  // the node's inputs in order, then what its bodies capture
  std::size_t inputs = 0;

  // One value for each output; `load` gives what is read, by its place in `reads`.
  std::vector<RuntimeValue> run(const std::function<RuntimeValue(std::size_t)>& load) const;
};
NodeCall node_call(const Graph& graph, NodeId id);

// What a kernel gave for the value `name`; fails unless it is a tensor of this type and shape.
const Tensor& expected_tensor(const RuntimeValue& value, DataType type,
                              const std::vector<std::int64_t>& dims, const std::string& name);

// Why a node runs so: its shapes, its bodies, or `otherwise`.
std::string reason_for_plain_kernel(const Node& node,
                                    const std::function<bool(ValueId)>& is_dynamic,
                                    const std::string& otherwise);

}  // namespace assay::reference
