#include "assay/infer.h"

#include "assay/verify.h"
#include "base/text.h"
#include "graph/newer_opsets.h"
#include "infer/inference.h"

namespace assay {

using namespace assay::infer;

namespace {

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId input : graph.inputs()) names.push_back(graph.value(input).name);
  return names;
}

void set_input_value(Inference& inference, ValueId id, const Tensor& content) {
  const Value& value = inference.graph().value(id);
  const auto& declared = value.type.shape;
  bool fits = !declared || declared->rank() == content.dims().size();
  for (std::size_t axis = 0; fits && declared && axis < declared->rank(); ++axis) {
    fits = !(*declared)[axis].is_known() || (*declared)[axis].value() == content.dims()[axis];
  }
  if (!fits) {
    fail_bad_input("input '{}' is {}, the value given for it is {}", value.name,
                   value.type.to_string(), content.shape().to_string());
  }
  inference.set_type(id, tensor_type(content.type(), content.shape()));
  inference.set_known(id, content);
}

void set_input_values(Inference& inference, const std::map<std::string, Tensor>& values) {
  std::map<std::string, Tensor> left = values;
  for (const ValueId input : inference.graph().inputs()) {
    const auto found = left.find(inference.graph().value(input).name);
    if (found == left.end()) continue;
    set_input_value(inference, input, found->second);
    left.erase(found);
  }
  if (left.empty()) return;
  fail_bad_input("there is no input '{}': the inputs are {}", left.begin()->first,
                 join(input_names(inference.graph()), ", "));
}

}  // namespace

Inferred infer_shapes(Graph graph, const InferOptions& options) {
  InferenceLimits limits;
  if (auto warning = graph::newer_opset_warning(graph)) {
    limits.findings.warn(std::move(*warning));
  }
  Inference inference(std::move(graph), limits, 0);
  set_input_values(inference, options.input_values);
  inference.run();
  Inferred result;
  result.graph = inference.take_graph();
  result.known = inference.take_known();
  result.unresolved = std::move(inference.unresolved());
  result.warnings = std::move(limits.findings.warnings);
  result.not_run = std::move(limits.findings.not_run);
  return result;
}

}  // namespace assay
