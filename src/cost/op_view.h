// What a cost function sees of one node: its shapes, its attributes, and what is known of its
// inputs.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/infer.h"

namespace assay {

// The arithmetic of one node. One MAC is a fused multiply-add, two FLOPs.
struct Work {
  std::int64_t macs = 0;
  std::int64_t effective_macs = 0;
  std::int64_t bias_flops = 0;
  std::int64_t other_flops = 0;
};

Work macs_only(std::int64_t macs);
Work flops_only(std::int64_t flops);

// Thrown by the accessors below when a shape that a cost depends on is not known; becomes a row
// that says so. It never leaves the cost folder.
struct ShapeNotKnown {
  std::string tensor;
};

class OpView {
 public:
  OpView(const Graph& graph, NodeId id, const Inferred* root)
      : graph_(&graph), id_(id), root_(root) {}

  const Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }
  const Node& node() const { return graph_->node(id_); }
  std::int64_t opset() const { return graph_->opset(node().domain); }

  bool has_input(std::size_t i) const { return node().has_input(i); }
  bool has_output(std::size_t i) const { return node().has_output(i); }
  std::vector<std::int64_t> input_dims(std::size_t i) const;
  std::vector<std::int64_t> output_dims(std::size_t i) const;
  std::int64_t input_elements(std::size_t i) const;
  std::int64_t output_elements(std::size_t i = 0) const;
  // The content of an input, where it is known without running.
  const Tensor* known_input(std::size_t i) const;

 private:
  std::vector<std::int64_t> dims_of(ValueId value) const;

  const Graph* graph_ = nullptr;
  NodeId id_;
  const Inferred* root_ = nullptr;  // null inside a subgraph, where values are not tracked
};

std::int64_t product(std::span<const std::int64_t> dims);  // saturates

}  // namespace assay
