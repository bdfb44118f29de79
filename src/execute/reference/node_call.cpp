#include "execute/reference/node_call.h"

#include "base/fail.h"
#include "base/text.h"
#include "graph/node_kinds.h"

namespace assay::reference {

NodeCall node_call(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  NodeCall call{.evaluator = std::make_shared<const NodeEvaluator>(graph, id),
                .reads = node.inputs,
                .inputs = node.inputs.size()};
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Capture& capture : body.captures()) call.reads.push_back(capture.outer);
  });
  return call;
}

std::vector<RuntimeValue> NodeCall::run(
    const std::function<RuntimeValue(std::size_t)>& load) const {
  std::vector<RuntimeValue> given;
  std::map<ValueId, RuntimeValue> captured;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i < inputs) {
      given.push_back(load(i));
    } else {
      captured.emplace(reads[i], load(i));
    }
  }
  const ValueLookup around = [&](ValueId id) -> const RuntimeValue& { return captured.at(id); };
  return evaluator->run(std::move(given), around);
}

const Tensor& expected_tensor(const RuntimeValue& value, DataType type,
                              const std::vector<std::int64_t>& dims, const std::string& name) {
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr || tensor->type() != type || tensor->dims() != dims) {
    fail_bad_input("'{}' should be {}[{}], the kernel gave {}", name, assay::name(type),
                   join_dims(dims),
                   tensor ? tensor_type(tensor->type(), tensor->shape()).to_string() : "no tensor");
  }
  return *tensor;
}

std::string reason_for_plain_kernel(const Node& node,
                                    const std::function<bool(ValueId)>& is_dynamic,
                                    const std::string& otherwise) {
  for (const auto* ids : {&node.outputs, &node.inputs})
    for (const ValueId id : *ids)
      if (id.is_valid() && is_dynamic(id)) return "its shapes are known only at run time";
  return graph::holds_subgraph(node) ? "its body runs in the interpreter" : otherwise;
}

}  // namespace assay::reference
