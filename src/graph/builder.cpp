#include "assay/builder.h"

#include "assay/verify.h"
#include "base/fail.h"
#include "graph/seeded.h"

namespace assay {

using namespace assay::graph;

GraphBuilder::GraphBuilder(std::string name, std::uint64_t seed, std::int64_t opset) : seed_(seed) {
  graph_.name = std::move(name);
  graph_.opsets[""] = opset;
  graph_.info.producer_name = "assay";
}

std::string GraphBuilder::unique_name(const std::string& wanted) {
  std::string name = wanted;
  while (!names_.insert(name).second) name = fmt::format("{}_{}", wanted, ++last_suffix_[wanted]);
  return name;
}

ValueId GraphBuilder::input(const std::string& name, DataType type, std::optional<Shape> shape) {
  const ValueId id = graph_.add_value(unique_name(name), tensor_type(type, std::move(shape)));
  graph_.add_input(id);
  return id;
}

void GraphBuilder::output(ValueId value, const std::string& name) {
  graph_.value(value).name = unique_name(name);
  graph_.add_output(value);
}

ValueId GraphBuilder::weight(const std::string& name, std::vector<std::int64_t> dims,
                             double bound) {
  return constant(name, seeded_uniform(seed_, name, std::move(dims), bound));
}

ValueId GraphBuilder::filled(const std::string& name, std::vector<std::int64_t> dims,
                             float number) {
  return constant(name, filled_tensor(std::move(dims), number));
}

ValueId GraphBuilder::constant(const std::string& name, Tensor tensor) {
  const ValueId id = graph_.add_value(unique_name(name));
  graph_.add_initializer(id, std::move(tensor));
  return id;
}

ValueId GraphBuilder::ints(const std::string& name, const std::vector<std::int64_t>& numbers) {
  return constant(name, Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers));
}

ValueId GraphBuilder::scalar(const std::string& name, float number) {
  return constant(name, Tensor::of_float({}, {number}));
}

ValueId GraphBuilder::node(const std::string& op, const std::string& name,
                           std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
  return node_with_outputs(op, name, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<ValueId> GraphBuilder::node_with_outputs(const std::string& op, const std::string& name,
                                                     std::vector<ValueId> inputs,
                                                     std::size_t outputs,
                                                     std::vector<Attribute> attributes) {
  const std::string unique = unique_name(name);
  Node node{.name = unique, .op = op, .domain = "", .inputs = std::move(inputs)};
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < outputs; ++i) {
    const std::string value = i == 0 ? unique : unique_name(fmt::format("{}.{}", unique, i));
    node.outputs.push_back(graph_.add_value(value));
  }
  auto ids = node.outputs;
  graph_.add_node(std::move(node));
  return ids;
}

std::optional<std::size_t> GraphBuilder::rank(ValueId value) const {
  const auto& shape = graph_.value(value).type.shape;
  return shape ? std::optional(shape->rank()) : std::nullopt;
}

void GraphBuilder::set_rank(ValueId value, std::size_t rank) {
  graph_.value(value).type.shape = Shape(std::vector<Dim>(rank));
}

Graph GraphBuilder::finish() {
  verify(graph_);
  return std::move(graph_);
}

}  // namespace assay
