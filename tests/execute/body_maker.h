// Bodies of If, Loop and Scan written by hand.
#pragma once

#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::test {

class Body {
 public:
  explicit Body(std::int64_t opset = 17) {
    graph_.name = "body";
    graph_.opsets[""] = opset;
  }

  ValueId input(DataType type, std::optional<Shape> shape = std::nullopt) {
    const ValueId id = graph_.add_value(fresh("in"), tensor_type(type, std::move(shape)));
    graph_.add_input(id);
    return id;
  }
  // A value of the graph around it.
  ValueId capture(ValueId outer) {
    const ValueId id = graph_.add_value(fresh("captured"));
    graph_.add_capture({outer, id});
    return id;
  }
  ValueId constant(Tensor tensor) {
    const ValueId id = graph_.add_value(fresh("constant"));
    graph_.add_initializer(id, std::move(tensor));
    return id;
  }
  ValueId node(const std::string& op, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes = {}) {
    const ValueId id = graph_.add_value(fresh(op));
    graph_.add_node(Node{.name = "",
                         .op = op,
                         .domain = "",
                         .inputs = std::move(inputs),
                         .outputs = {id},
                         .attributes = std::move(attributes)});
    return id;
  }
  Body& output(ValueId id) {
    graph_.add_output(id);
    return *this;
  }
  GraphPtr finish() const { return std::make_shared<const Graph>(graph_); }

 private:
  std::string fresh(const std::string& base) {
    return base + "_" + std::to_string(graph_.value_count());
  }

  Graph graph_;
};

inline Tensor truth(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&byte, 1));
}

}  // namespace assay::test
