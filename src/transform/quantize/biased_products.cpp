#include "transform/quantize/biased_products.h"

#include <algorithm>
#include <map>
#include <optional>

#include "transform/quantize/values.h"

namespace assay::transform {

namespace {

struct BiasedProduct {
  NodeId product;
  NodeId sum;
  ValueId bias;
};

class BiasedProducts {
 public:
  explicit BiasedProducts(const Graph& graph)
      : old_(graph), readers_(consumers(graph)), names_(graph), is_output_(graph.value_count()) {
    for (const ValueId output : graph.outputs()) is_output_[output.number] = true;
  }

  Graph run() && {
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      if (const auto found = biased_product(NodeId{i})) by_sum_.emplace(found->sum, *found);
    }
    if (by_sum_.empty()) return old_;
    graph_ = old_.declarations();
    for (const auto& [value, tensor] : old_.initializers()) graph_.add_initializer(value, tensor);
    std::vector<bool> is_taken(old_.node_count(), false);
    for (const auto& [sum, found] : by_sum_) is_taken[found.product.number] = true;
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      const auto found = by_sum_.find(NodeId{i});
      if (found != by_sum_.end())
        add_gemm(found->second);
      else if (!is_taken[i])
        graph_.add_node(old_.node(NodeId{i}));
    }
    return std::move(graph_);
  }

 private:
  std::optional<BiasedProduct> biased_product(NodeId id) const {
    const Node& node = old_.node(id);
    if (!node.is("MatMul")) return {};
    const Tensor* weight = old_.initializer(node.inputs[1]);
    if (weight == nullptr || weight->dims().size() != 2 || weight->type() != DataType::Float32)
      return {};
    const ValueId result = node.outputs[0];
    if (readers_[result.number].size() != 1 || is_output_[result.number]) return {};
    const NodeId reader = readers_[result.number].front();
    const Node& sum = old_.node(reader);
    if (!sum.is("Add") || sum.inputs[0] == sum.inputs[1]) return {};
    const ValueId bias = sum.inputs[sum.inputs[0] == result ? 1 : 0];
    const Tensor* row = old_.initializer(bias);
    const bool is_row = row != nullptr && row->type() == DataType::Float32 &&
                        row->dims() == std::vector{weight->dims()[1]};
    if (!is_row || !can_be_flattened(node.inputs[0])) return {};
    return BiasedProduct{id, reader, bias};
  }

  // At most one dimension is free, besides the last.
  bool can_be_flattened(ValueId id) const {
    const auto& shape = old_.value(id).type.shape;
    if (!shape || shape->rank() < 2 || old_.initializer(id) != nullptr) return false;
    int unknown = 0;
    for (std::size_t i = 0; i + 1 < shape->rank(); ++i) unknown += (*shape)[i].is_known() ? 0 : 1;
    return unknown <= 1;
  }

  ValueId shape_constant(const std::string& name, const std::vector<std::int64_t>& dims) {
    const auto rank = static_cast<std::int64_t>(dims.size());
    const ValueId id =
        graph_.add_value(names_.unique(name), tensor_type(DataType::Int64, Shape({rank})));
    graph_.add_initializer(id, Tensor::of_int64({rank}, dims));
    return id;
  }

  ValueId rows_of(ValueId id, std::int64_t width) {
    if (old_.value(id).type.shape->rank() == 2) return id;
    const auto found = flattened_.find(id);
    if (found != flattened_.end()) return found->second;
    const std::string& name = old_.value(id).name;
    const ValueId shape = shape_constant(name + "_rows_shape", {-1, width});
    const ValueId rows = graph_.add_value(
        names_.unique(name + "_rows"),
        tensor_type(DataType::Float32, Shape(std::vector<Dim>{Dim(), Dim(width)})));
    graph_.add_node(Node{.name = name + "_rows",
                         .op = "Reshape",
                         .domain = "",
                         .inputs = {id, shape},
                         .outputs = {rows}});
    flattened_.emplace(id, rows);
    return rows;
  }

  // All dimensions but one; the first is the one that follows from the others if all are known.
  std::vector<std::int64_t> restored_dims(ValueId operand, std::int64_t columns) const {
    std::vector<std::int64_t> dims = old_.value(operand).type.shape->values();
    dims.back() = columns;
    const bool has_free = std::find(dims.begin(), dims.end(), -1) != dims.end();
    if (!has_free) dims.front() = -1;
    return dims;
  }

  void add_gemm(const BiasedProduct& found) {
    const Node& product = old_.node(found.product);
    const auto& weight_dims = old_.initializer(product.inputs[1])->dims();
    const ValueId result = old_.node(found.sum).outputs[0];
    const ValueId operand = product.inputs[0];
    const bool is_flat = old_.value(operand).type.shape->rank() == 2;
    const ValueId rows = rows_of(operand, weight_dims[0]);
    const ValueId sums =
        is_flat
            ? result
            : graph_.add_value(names_.unique(old_.value(result).name + "_rows"),
                               tensor_type(DataType::Float32,
                                           Shape(std::vector<Dim>{Dim(), Dim(weight_dims[1])})));
    graph_.add_node(Node{.name = product.name,
                         .op = "Gemm",
                         .domain = "",
                         .inputs = {rows, product.inputs[1], found.bias},
                         .outputs = {sums}});
    if (is_flat) return;
    const ValueId shape =
        shape_constant(product.name + "_restored_shape", restored_dims(operand, weight_dims[1]));
    graph_.add_node(Node{.name = product.name + "_restored",
                         .op = "Reshape",
                         .domain = "",
                         .inputs = {sums, shape},
                         .outputs = {result}});
  }

  const Graph& old_;
  std::vector<std::vector<NodeId>> readers_;
  ValueNames names_;
  std::vector<bool> is_output_;
  std::map<NodeId, BiasedProduct> by_sum_;
  std::map<ValueId, ValueId> flattened_;
  Graph graph_;
};

}  // namespace

Graph with_biased_products(const Graph& graph) {
  return BiasedProducts(graph).run();
}

}  // namespace assay::transform
