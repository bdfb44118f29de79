#include "profile/studies/operation_graphs.h"

#include <cmath>

#include "assay/layers.h"

namespace assay::profile {

namespace {

constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kSizePerPixel = 8;
constexpr std::int64_t kAttentionHeads = 8;
constexpr std::int64_t kHeadWidth = 64;

ValueId matrix(GraphBuilder& builder, const std::string& name, std::int64_t size) {
  return builder.input(name, DataType::Float32, Shape{size, size});
}

Graph finished(GraphBuilder& builder, ValueId result) {
  builder.output(result, "output");
  return builder.finish();
}

Graph elementwise(std::int64_t size) {
  GraphBuilder builder("element-wise");
  const ValueId a = matrix(builder, "a", size);
  return finished(builder, builder.node("Add", "add", {a, matrix(builder, "b", size)}));
}

Graph reduction(std::int64_t size) {
  GraphBuilder builder("reduction");
  const ValueId a = matrix(builder, "a", size);
  return finished(builder, builder.node("ReduceSum", "sum", {a, builder.ints("axes", {1})}));
}

Graph matmul(std::int64_t size) {
  GraphBuilder builder("matmul");
  const ValueId a = matrix(builder, "a", size);
  return finished(builder, builder.node("MatMul", "product", {a, matrix(builder, "b", size)}));
}

Graph convolution(std::int64_t size) {
  GraphBuilder builder("convolution");
  const std::int64_t side = size / kSizePerPixel;
  const ValueId image = builder.input("image", DataType::Float32, Shape{1, kChannels, side, side});
  return finished(builder, Conv2d(kChannels, kChannels, 3, {.padding = 1})(builder, image));
}

// softmax(q·kᵀ / √width)·v
Graph attention(std::int64_t size) {
  GraphBuilder builder("attention");
  const auto tokens = [&](const std::string& name) {
    return builder.input(name, DataType::Float32, Shape{1, kAttentionHeads, size, kHeadWidth});
  };
  const ValueId queries = tokens("queries");
  const ValueId keys = builder.node("Transpose", "keys_transposed", {tokens("keys")},
                                    {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const ValueId scores = builder.node("MatMul", "scores", {queries, keys});
  const ValueId scaled = builder.node(
      "Mul", "scaled",
      {scores, builder.scalar("factor", 1 / std::sqrt(static_cast<float>(kHeadWidth)))});
  const ValueId shares = builder.node("Softmax", "shares", {scaled}, {{"axis", std::int64_t{-1}}});
  return finished(builder, builder.node("MatMul", "mixed", {shares, tokens("values")}));
}

}  // namespace

const std::vector<OperationKind>& operation_kinds() {
  static const std::vector<OperationKind> kinds = {{"element-wise", elementwise, 1},
                                                   {"reduction", reduction, 1},
                                                   {"matmul", matmul, 1},
                                                   {"convolution", convolution, kSizePerPixel},
                                                   {"attention", attention, 1}};
  return kinds;
}

}  // namespace assay::profile
