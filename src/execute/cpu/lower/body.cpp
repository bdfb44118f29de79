#include "execute/cpu/lower/body.h"

#include "assay/error.h"
#include "base/checked.h"

namespace assay::cpu {

StandaloneBody standalone_body(const Lowering& lowering, const Graph& body) {
  StandaloneBody alone{body};
  alone.graph.opsets = lowering.graph().opsets;
  for (const auto& [outer, inner] : alone.graph.take_captures()) {
    alone.graph.value(inner).type = lowering.graph().value(outer).type;
    if (const Tensor* constant = lowering.constant(outer)) {
      alone.graph.add_initializer(inner, *constant);
    } else {
      alone.graph.add_input(inner);
      alone.captured.push_back(outer);
    }
  }
  return alone;
}

Graph with_ends(const Graph& graph, std::span<const ValueId> inputs,
                std::span<const ValueId> outputs) {
  Graph result;
  result.name = graph.name;
  result.opsets = graph.opsets;
  result.reserve(graph.value_count(), graph.node_count());
  for (const Value& value : graph.values()) result.add_value(value.name, value.type);
  for (const ValueId input : inputs) result.add_input(input);
  for (const ValueId output : outputs) result.add_output(output);
  for (const auto& [value, tensor] : graph.initializers()) result.add_initializer(value, tensor);
  for (const Node& node : graph.nodes()) result.add_node(node);
  return result;
}

std::optional<Inferred> inferred_body(Graph body) {
  try {
    return infer_shapes(std::move(body));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    return {};
  }
}

std::string slow_step(const std::vector<StepInfo>& steps) {
  for (const StepInfo& step : steps) {
    if (!step.fell_back.empty()) return step.op + ": " + step.fell_back;
  }
  return "";
}

std::int64_t executed_flops(const std::vector<StepInfo>& steps) {
  std::int64_t flops = 0;
  for (const StepInfo& step : steps) flops = saturating_add(flops, step.executed_flops);
  return flops;
}

}  // namespace assay::cpu
