// Ops of opsets 7 to 10 in the form of opset 11, which gradients are written in: what were
// attributes are inputs by then.
#include <limits>

#include "kernels/real.h"
#include "transform/training/parts.h"

namespace assay::transform {

namespace {

constexpr std::int64_t kModernOpset = 11;

class Modernizer {
 public:
  explicit Modernizer(Graph graph) : graph_(std::move(graph)) {}

  Graph run() {
    const std::int64_t opset = graph_.opset();
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      Node& node = graph_.node(NodeId{i});
      if (node.is("Clip")) bounds_to_inputs(node);
      if (node.is("Pad")) pads_to_inputs(node);
      if (node.is("Slice") && opset < 10) stretches_to_inputs(node);
      if (node.is("Resize") || node.is("Upsample")) to_modern_resize(node);
      if (node.is("TopK") && opset < 10) node.inputs.push_back(ints(node, {node.int_or("k", 1)}));
    }
    graph_.opsets[""] = kModernOpset;
    return std::move(graph_);
  }

 private:
  ValueId constant(const Node& node, Tensor tensor) {
    const ValueId value = graph_.add_value(unused_name(graph_, node.name + "/setting"),
                                           tensor_type(tensor.type(), Shape(tensor.dims())));
    graph_.add_initializer(value, std::move(tensor));
    return value;
  }
  ValueId ints(const Node& node, const std::vector<std::int64_t>& numbers) {
    return constant(node, Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers));
  }
  ValueId number(const Node& node, float value) {
    const DataType type = graph_.value(node.inputs[0]).type.element;
    return constant(node, kernels::store_real(type, {}, {static_cast<double>(value)}));
  }

  void bounds_to_inputs(Node& node) {
    constexpr float kMost = std::numeric_limits<float>::max();
    const ValueId low = number(node, node.float_or("min", -kMost));
    const ValueId high = number(node, node.float_or("max", kMost));
    node.inputs = {node.inputs[0], low, high};
    node.attributes.clear();
  }

  void pads_to_inputs(Node& node) {
    const ValueId pads = ints(node, node.ints_or("pads", {}));
    const ValueId value = number(node, node.float_or("value", 0));
    const std::string mode = node.string_or("mode", "constant");
    node.inputs = {node.inputs[0], pads, value};
    node.attributes = {{"mode", mode}};
  }

  void stretches_to_inputs(Node& node) {
    const auto starts = node.ints_or("starts", {});
    const auto ends = node.ints_or("ends", {});
    auto axes = node.ints_or("axes", {});
    for (std::size_t i = axes.size(); i < starts.size(); ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
    const ValueId first = ints(node, starts);
    const ValueId last = ints(node, ends);
    node.inputs = {node.inputs[0], first, last, ints(node, axes)};
    node.attributes.clear();
  }

  // Scales were an attribute, then the second input; pixels were points.
  void to_modern_resize(Node& node) {
    const auto* scales = node.get<std::vector<float>>("scales");
    const ValueId by =
        scales == nullptr
            ? node.inputs[1]
            : constant(node,
                       Tensor::of_float({static_cast<std::int64_t>(scales->size())}, *scales));
    const std::string mode = node.string_or("mode", "nearest");
    node.op = "Resize";
    node.inputs = {node.inputs[0], ValueId{}, by};
    node.attributes = {{"mode", mode == "bilinear" ? "linear" : mode},
                       {"coordinate_transformation_mode", std::string("asymmetric")},
                       {"nearest_mode", std::string("floor")}};
  }

  Graph graph_;
};

}  // namespace

Inferred in_modern_forms(const Inferred& model) {
  if (model.graph.opset() >= kModernOpset) return model;
  return infer_shapes(Modernizer(model.graph).run());
}

}  // namespace assay::transform
