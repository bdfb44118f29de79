// One node, inferred: what most tests of shape rules need.
#pragma once

#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "support/error_message.h"

namespace assay::test {

// A graph of one node whose inputs are given one after the other.
class OneNode {
 public:
  explicit OneNode(std::string op, std::int64_t opset = 17)
      : builder_("test", 0, opset), op_(std::move(op)) {}

  OneNode& input(Shape shape, DataType type = DataType::Float32) {
    return with(builder_.input("x", type, std::move(shape)));
  }
  OneNode& input_of_unknown_rank() {
    return with(builder_.input("x", DataType::Float32, std::nullopt));
  }
  OneNode& ints(const std::vector<std::int64_t>& numbers) {
    return with(builder_.ints("c", numbers));
  }
  OneNode& constant(Tensor tensor) { return with(builder_.constant("c", std::move(tensor))); }
  OneNode& nothing() { return with(ValueId{}); }
  OneNode& attribute(std::string name, AttributeValue value) {
    attributes_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  OneNode& domain(std::string name) {
    domain_ = std::move(name);
    return *this;
  }

  Inferred infer(std::size_t outputs = 1) {
    const auto ids = builder_.node_with_outputs(op_, "node", inputs_, outputs, attributes_);
    for (const ValueId id : ids) builder_.output(id, "y");
    Graph graph = builder_.finish();
    if (!domain_.empty()) graph.opsets[domain_] = 1;
    graph.node(NodeId{0}).domain = domain_;
    return infer_shapes(std::move(graph));
  }
  std::string shape(std::size_t output = 0, std::size_t outputs = 1) {
    return type(output, outputs).shape->to_string();
  }
  std::string text(std::size_t output = 0, std::size_t outputs = 1) {
    return type(output, outputs).to_string();
  }
  std::string error() {
    return error_message([&] { infer(); });
  }

 private:
  OneNode& with(ValueId id) {
    inputs_.push_back(id);
    return *this;
  }
  ValueType type(std::size_t output, std::size_t outputs) {
    const Inferred inferred = infer(outputs);
    return inferred.graph.value(inferred.graph.outputs()[output]).type;
  }

  GraphBuilder builder_;
  std::string op_;
  std::string domain_;
  std::vector<ValueId> inputs_;
  std::vector<Attribute> attributes_;
};

using Ints = std::vector<std::int64_t>;

}  // namespace assay::test
