// Ops over whole values rather than over tensors: sequences and optionals are built, asked and
// taken apart here, and the bodies of If, Loop, Scan and SequenceMap are run.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "assay/graph.h"
#include "base/fail.h"
#include "execute/reference/runtime_value.h"

namespace assay::reference {

// One node being run. `run_body` runs a subgraph of the node; it sees what it captures by itself.
struct ValueCall {
  using RunBody = std::function<std::vector<RuntimeValue>(const Graph&, std::vector<RuntimeValue>)>;

  const Node& node;
  std::span<RuntimeValue> inputs;  // the op's own: it may take them apart
  std::int64_t opset = 0;
  const RunBody& run_body;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  RuntimeValue& input(std::size_t i) const;  // fails when it is left out
  const Tensor& tensor(std::size_t i) const;
  RuntimeValue::Sequence& sequence(std::size_t i) const;
  std::int64_t integer(std::size_t i) const;  // a tensor of one element
  const Graph& body(std::string_view attribute) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_bad_input("{} '{}': {}", node.op, node.name,
                   fmt::format(format, std::forward<Args>(args)...));
  }
};

using ValueOp = std::vector<RuntimeValue> (*)(const ValueCall&);
using ValueOpTable = std::unordered_map<std::string_view, ValueOp>;

// The op of that node, or null: most nodes are kernels over tensors.
ValueOp find_value_op(const Node& node);

void add_sequence_ops(ValueOpTable& table);
void add_optional_ops(ValueOpTable& table);
void add_control_flow_ops(ValueOpTable& table);
void add_scan_ops(ValueOpTable& table);

}  // namespace assay::reference
