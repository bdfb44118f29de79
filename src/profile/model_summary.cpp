#include <span>

#include "assay/count.h"
#include "assay/error.h"
#include "assay/infer.h"

namespace assay {

namespace {

// With the types of outputs that the file leaves open, where they follow from the inputs.
Graph with_types(const Graph& graph) {
  try {
    return infer_shapes(graph).graph;
  } catch (const Error&) {
    return graph;
  }
}

}  // namespace

ModelSummary model_summary(const Graph& model, const std::string& name) {
  const Graph graph = with_types(model);
  const auto values = [&](std::span<const ValueId> ids) {
    std::vector<Value> list;
    for (const ValueId id : ids) list.push_back(graph.value(id));
    return list;
  };
  return {.name = name,
          .opset = graph.opset(),
          .inputs = values(graph.inputs()),
          .outputs = values(graph.outputs())};
}

}  // namespace assay
