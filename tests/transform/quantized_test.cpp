// Float layers between DequantizeLinear and QuantizeLinear as quantised ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/builder.h"
#include "transform/simplify.h"

namespace assay {

using namespace assay::transform;

namespace {

Tensor zeros_of(DataType type, std::vector<std::int64_t> dims, std::size_t bytes) {
  return Tensor(type, std::move(dims), heap_storage(std::vector<std::byte>(bytes)));
}

// A Gemm of 2x3 by 3x2 with one scale for each column and a bias of these dimensions.
std::vector<std::string> quantised_gemm(std::vector<std::int64_t> bias_dims) {
  GraphBuilder builder("net");
  const ValueId scale = builder.scalar("scale", 0.5f);
  const ValueId zero = builder.constant("zero", zeros_of(DataType::UInt8, {}, 1));
  const ValueId x = builder.input("x", DataType::UInt8, Shape{2, 3});
  const ValueId weight =
      builder.node("DequantizeLinear", "w_real",
                   {builder.constant("w", zeros_of(DataType::Int8, {3, 2}, 6)),
                    builder.constant("w_scale", Tensor::of_float({2}, {0.1f, 0.2f}))},
                   {{"axis", std::int64_t{1}}});
  const ValueId gemm = builder.node("Gemm", "gemm",
                                    {builder.node("DequantizeLinear", "x_real", {x, scale, zero}),
                                     weight, builder.filled("bias", std::move(bias_dims), 1.0f)});
  builder.output(builder.node("QuantizeLinear", "y", {gemm, scale, zero}), "out");
  std::vector<std::string> ops;
  const Rewritten simple = simplify(infer_shapes(builder.finish()));
  for (const Node& node : simple.model.graph.nodes()) ops.push_back(node.op);
  return ops;
}

TEST(QuantisedLayers, AGemmWithABiasOfColumnsIsOneOp) {
  EXPECT_EQ(quantised_gemm({2}), std::vector<std::string>{"QGemm"});
  EXPECT_EQ(quantised_gemm({1, 2}), std::vector<std::string>{"QGemm"});
}

// One number a row, as many as there are scales of columns: they must not be taken for each other.
TEST(QuantisedLayers, AGemmWithABiasOfRowsStaysAsItIs) {
  const auto ops = quantised_gemm({2, 1});
  EXPECT_EQ(std::ranges::count(ops, "QGemm"), 0);
  EXPECT_EQ(std::ranges::count(ops, "Gemm"), 1);
}

}  // namespace
}  // namespace assay
