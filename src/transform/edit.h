// A graph under surgery: nodes are rewritten in place, absorbed or removed, and `finish` yields a
// clean graph that remembers which nodes of the first one each of its nodes stands for.
//
// Values keep their numbers from start to finish. A node that takes over others is the last of
// them, so that execution order holds without sorting.
#pragma once

#include <vector>

#include "assay/infer.h"

namespace assay::transform {

struct Rewritten {
  Inferred model;
  // By node of model.graph: the nodes of the first graph whose work it does, in execution order.
  std::vector<std::vector<NodeId>> origins;
};

class GraphEdit {
 public:
  explicit GraphEdit(Inferred model);
  explicit GraphEdit(Rewritten start);  // goes on with what a pass made; origins are kept

  const Graph& graph() const { return model_.graph; }
  const Node& node(NodeId id) const { return model_.graph.node(id); }
  std::size_t node_count() const { return model_.graph.node_count(); }
  bool is_alive(NodeId id) const { return alive_[id.number]; }
  const ValueType& type(ValueId id) const { return model_.graph.value(id).type; }

  // The live node that computes the value, or null.
  const Node* maker(ValueId id) const;
  NodeId maker_id(ValueId id) const;
  // The content of a value that does not change from run to run, or null.
  const Tensor* constant(ValueId id) const;
  // A constant of one element, as a number.
  std::optional<double> number(ValueId id) const;
  // How many nodes read the value; being an output or captured by a subgraph counts as one more.
  std::size_t readers(ValueId id) const;
  // The one node that reads the value; invalid if there are more, or other readers.
  NodeId only_reader(ValueId id) const;
  bool is_visible(ValueId id) const { return visible_[id.number]; }  // output, or captured

  ValueId add_constant(const std::string& name, Tensor tensor);
  // The value has this content from now on; the node that computed it is removed.
  void set_constant(ValueId id, Tensor tensor);
  // Whoever reads `from` reads `to`. `from` must not be visible.
  void replace_value(ValueId from, ValueId to);
  void set_element_type(ValueId id, DataType type);
  void set_node(NodeId id, Node node);
  void remove(NodeId id);
  // Removes `id`, whose work `into` now does.
  void absorb(NodeId id, NodeId into);

  Rewritten finish() &&;

 private:
  void drop_reader(ValueId value, NodeId reader);
  void unlink(NodeId id);

  Inferred model_;
  std::vector<bool> alive_;
  std::vector<bool> visible_;
  std::vector<std::vector<NodeId>> readers_;  // by value
  std::vector<std::vector<NodeId>> origins_;  // by node
};

}  // namespace assay::transform
