#include "cost/bias.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::cost {

namespace {

constexpr std::array<std::string_view, 6> kProducts = {"MatMul",        "Conv",   "Gemm",
                                                       "ConvTranspose", "Einsum", "MatMulInteger"};

bool is_product(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  if (!producer.is_valid()) return false;
  const Node& node = graph.node(producer);
  return node.is_standard() && std::ranges::find(kProducts, node.op) != kProducts.end();
}

// More than one number, all along a single axis: [C], [1, C, 1, 1].
bool is_vector(const Tensor& tensor) {
  const auto is_long = [](std::int64_t dim) { return dim > 1; };
  return is_floating(tensor.type()) && std::ranges::count_if(tensor.dims(), is_long) == 1;
}

}  // namespace

bool is_bias_add(const OpView& op) {
  const Node& node = op.node();
  if (!node.is("Add") || !node.has_input(0) || !node.has_input(1)) return false;
  for (const std::size_t side : {0u, 1u}) {
    const Tensor* stored = op.graph().initializer(node.inputs[side]);
    if (stored != nullptr && is_vector(*stored) && is_product(op.graph(), node.inputs[1 - side])) {
      return true;
    }
  }
  return false;
}

}  // namespace assay::cost
