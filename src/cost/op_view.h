// What a cost function sees of one node: its shapes, its attributes, and what is known of its
// inputs.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/infer.h"

namespace assay::cost {

// The arithmetic of one node. One MAC is a fused multiply-add, two FLOPs.
struct Work {
  std::int64_t macs = 0;
  std::int64_t effective_macs = 0;
  std::int64_t bias_flops = 0;
  std::int64_t other_flops = 0;
  std::string form = "";  // of a convolution: "7x7/2", "depthwise 3x3"
};

Work macs_only(std::int64_t macs);
Work flops_only(std::int64_t flops);

// Thrown by the accessors below when a shape that a cost depends on is not known; becomes a row
// that says so. It never leaves the cost folder.
struct ShapeNotKnown {
  std::string tensor;
};

// A graph and the graphs around it, for looking up content that is known without running.
struct GraphScope {
  const Graph& graph;
  const Inferred* root = nullptr;      // set for the root graph only
  const GraphScope* around = nullptr;  // set for subgraphs only

  const Tensor* known(ValueId value) const;
};

class OpView {
 public:
  OpView(const GraphScope& scope, NodeId id) : scope_(&scope), graph_(&scope.graph), id_(id) {}

  const Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }
  const Node& node() const { return graph_->node(id_); }
  std::int64_t opset() const { return graph_->opset(node().domain); }

  bool has_input(std::size_t i) const { return node().has_input(i); }
  bool has_output(std::size_t i) const { return node().has_output(i); }
  std::vector<std::int64_t> input_dims(std::size_t i) const;
  std::vector<std::int64_t> output_dims(std::size_t i) const;
  std::int64_t input_elements(std::size_t i) const;
  std::int64_t last_axis(std::size_t input) const;  // its length; 1 for a scalar
  std::int64_t output_elements(std::size_t i = 0) const;
  // The content of an input, where it is known without running.
  const Tensor* known_input(std::size_t i) const;

 private:
  std::vector<std::int64_t> dims_of(ValueId value) const;

  const GraphScope* scope_ = nullptr;
  const Graph* graph_ = nullptr;
  NodeId id_;
};

std::int64_t product(std::span<const std::int64_t> dims);  // saturates

}  // namespace assay::cost
