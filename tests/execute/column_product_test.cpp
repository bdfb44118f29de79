// Transposed convolutions with few output channels, by our own kernel, against the reference
// engine.
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/builder.h"
#include "execute/compare_engines.h"
#include "execute/preferred_choice.h"

namespace assay {
namespace {

using Numbers = std::vector<std::int64_t>;

struct TransposedLayer {
  const char* name = "";
  Numbers image;  // batch, channels, spatial…
  Numbers kernel;
  std::int64_t outputs = 1;
  Numbers strides, pads, dilations, output_padding;
  bool has_relu = false;
};

Inferred network_of(const TransposedLayer& layer) {
  GraphBuilder builder("net", 3, 17);
  const ValueId x = builder.input("x", DataType::Float32, Shape(layer.image));
  Numbers weights = {layer.image[1], layer.outputs};
  weights.insert(weights.end(), layer.kernel.begin(), layer.kernel.end());
  std::vector<Attribute> attributes = {{"strides", layer.strides}, {"pads", layer.pads}};
  if (!layer.dilations.empty()) attributes.push_back({"dilations", layer.dilations});
  if (!layer.output_padding.empty()) attributes.push_back({"output_padding", layer.output_padding});
  ValueId y = builder.node(
      "ConvTranspose", "conv",
      {x, builder.weight("w", weights, 0.2), builder.weight("b", {layer.outputs}, 0.5)},
      attributes);
  if (layer.has_relu) y = builder.node("Relu", "relu", {y});
  builder.output(y, "y");
  return infer_shapes(builder.finish());
}

TEST(ColumnProduct, EqualsTheReferenceOnAnyNumberOfThreads) {
  const TransposedLayer layers[] = {
      {"line", {1, 32, 70}, {8}, 1, {4}, {2, 2}, {}, {}, false},
      {"doubled", {2, 24, 9, 11}, {2, 2}, 1, {2, 2}, {0, 0, 0, 0}, {}, {}, true},
      {"uneven", {1, 5, 6, 7}, {3, 4}, 3, {2, 3}, {1, 0, 2, 1}, {2, 1}, {1, 2}, true},
      {"volume", {1, 20, 3, 4, 5}, {2, 3, 2}, 2, {1, 2, 2}, {0, 1, 0, 1, 0, 1}, {}, {}, false}};
  for (const TransposedLayer& layer : layers) {
    const Inferred model = network_of(layer);
    const auto plain = compile(model, {.engine = "reference"});
    plain->set_inputs(random_inputs(plain->inputs()));
    plain->run();
    for (const int threads : {1, 2}) {
      const auto fast =
          compile_preferring("gemm col2im", model, {.engine = "cpu", .cpu = {.threads = threads}});
      const auto is_own = [](const StepInfo& step) { return step.algorithm == "gemm col2im"; };
      EXPECT_TRUE(std::ranges::any_of(fast->steps(), is_own)) << layer.name;
      fast->set_inputs(random_inputs(fast->inputs()));
      fast->run();
      const Difference difference = compare_results(fast->results(), plain->results());
      EXPECT_TRUE(difference.same_shapes);
      EXPECT_LT(difference.largest, 1e-5) << layer.name << " " << difference.where;
    }
  }
}

}  // namespace
}  // namespace assay
