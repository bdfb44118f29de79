#include "execute/recorded_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "assay/error.h"
#include "assay/infer.h"
#include "assay/onnx.h"
#include "execute/reference/interpreter.h"
#include "onnx_io/stored_value.h"

namespace assay {

namespace {

namespace fs = std::filesystem;
using Values = std::vector<reference::RuntimeValue>;

reference::RuntimeValue as_runtime_value(const onnx::StoredValue& stored) {
  switch (stored.kind) {
    case onnx::StoredValue::Kind::Tensor:
      return stored.tensors.front();
    case onnx::StoredValue::Kind::Sequence:
      return reference::RuntimeValue::Sequence(stored.tensors.begin(), stored.tensors.end());
    case onnx::StoredValue::Kind::Nothing:
      break;
  }
  return {};
}

// The data sets were made with numpy, which has no bfloat16: they hold the bits.
reference::RuntimeValue with_declared_type(reference::RuntimeValue value, const ValueType& type) {
  const Tensor* tensor = value.tensor();
  const bool is_bits = tensor != nullptr && tensor->type() == DataType::UInt16 &&
                       type.is_tensor() && type.element == DataType::BFloat16;
  if (!is_bits) return value;
  const auto bits = tensor->to_vector<std::uint16_t>();
  return Tensor::of<std::uint16_t>(DataType::BFloat16, tensor->dims(), bits);
}

Values recorded(const Graph& graph, std::span<const ValueId> ids, const fs::path& set,
                const char* what) {
  Values values;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const ValueType& type = graph.value(ids[i]).type;
    const auto stored = onnx::read_stored_value(set / fmt::format("{}_{}.pb", what, i), type);
    values.push_back(with_declared_type(as_runtime_value(stored), type));
  }
  return values;
}

bool are_tensors(const Graph& graph, std::span<const ValueId> ids) {
  return std::ranges::all_of(ids, [&](ValueId id) { return graph.value(id).type.is_tensor(); });
}

// All inputs but the first become stored tensors.
Graph with_stored_settings(const Graph& graph, const std::vector<Tensor>& tensors) {
  Graph stored;
  stored.name = graph.name;
  stored.opsets = graph.opsets;
  for (const Value& value : graph.values()) stored.add_value(value.name, value.type);
  for (const Initializer& one : graph.initializers()) stored.add_initializer(one.value, one.tensor);
  for (const Node& node : graph.nodes()) stored.add_node(node);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ValueId input = graph.inputs()[i];
    if (i == 0) stored.add_input(input);
    if (i > 0) stored.add_initializer(input, tensors[i]);
  }
  for (const ValueId output : graph.outputs()) stored.add_output(output);
  return stored;
}

// As a program where it can be one: every input gets the shape that is recorded for it.
Values run_program(Graph graph, const Values& inputs, const RecordedRun& run) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tensors.push_back(*inputs[i].tensor());
    graph.value(graph.inputs()[i]).type = tensor_type(tensors[i].type(), tensors[i].shape());
  }
  if (run.stores_settings && !tensors.empty()) {
    graph = with_stored_settings(graph, tensors);
    tensors.resize(1);
  }
  const auto program = compile(infer_shapes(std::move(graph)), run.options);
  program->set_inputs(tensors);
  for (int i = 0; i < run.runs; ++i) program->run();
  const auto results = program->results();
  return {results.begin(), results.end()};
}

Values run_model(const Graph& graph, const Values& inputs, const RecordedRun& run) {
  const bool can_be_program =
      are_tensors(graph, graph.inputs()) && are_tensors(graph, graph.outputs());
  return can_be_program ? run_program(graph, inputs, run)
                        : reference::Interpreter(graph).run(inputs);
}

// The tolerances of ONNX's own backend test.
bool is_near(double got, double wanted) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) && std::isnan(got);
  if (std::isinf(wanted) || std::isinf(got)) return wanted == got;
  return std::fabs(got - wanted) <= 1e-7 + 1e-3 * std::fabs(wanted);
}

std::optional<std::string> difference(const Tensor& got, const Tensor& wanted) {
  const auto type = [](const Tensor& tensor) {
    return tensor_type(tensor.type(), tensor.shape()).to_string();
  };
  if (type(got) != type(wanted)) return fmt::format("is {}, recorded {}", type(got), type(wanted));
  if (!is_floating(got.type())) {
    return got == wanted ? std::nullopt : std::optional<std::string>("holds other elements");
  }
  const auto left = got.to_double();
  const auto right = wanted.to_double();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!is_near(left[i], right[i]))
      return fmt::format("element {} is {}, recorded {}", i, left[i], right[i]);
  }
  return std::nullopt;
}

std::optional<std::string> difference(const reference::RuntimeValue& got,
                                      const reference::RuntimeValue& wanted) {
  if (got.tensor() != nullptr && wanted.tensor() != nullptr)
    return difference(*got.tensor(), *wanted.tensor());
  const auto* left = got.sequence();
  const auto* right = wanted.sequence();
  if (left == nullptr || right == nullptr) {
    const bool both_empty = !got.has_value() && !wanted.has_value();
    return both_empty ? std::nullopt : std::optional<std::string>("is another kind of value");
  }
  if (left->size() != right->size())
    return fmt::format("has {} elements, recorded {}", left->size(), right->size());
  for (std::size_t i = 0; i < left->size(); ++i) {
    if (auto differs = difference((*left)[i], (*right)[i])) return differs;
  }
  return std::nullopt;
}

std::optional<std::string> difference_in(const Graph& graph, const fs::path& set,
                                         const RecordedRun& run) {
  const Values outputs = run_model(graph, recorded(graph, graph.inputs(), set, "input"), run);
  const Values wanted = recorded(graph, graph.outputs(), set, "output");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (auto differs = difference(outputs[i], wanted[i]))
      return fmt::format("output '{}' {}", graph.value(graph.outputs()[i]).name, *differs);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> complaint_about(const fs::path& folder, const RecordedRun& run) {
  try {
    const Graph graph = read_onnx(folder / "model.onnx");
    std::size_t sets = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      ++sets;
      if (auto differs = difference_in(graph, entry.path(), run)) return differs;
    }
    return sets > 0 ? std::nullopt : std::optional<std::string>("records no data");
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

}  // namespace assay
