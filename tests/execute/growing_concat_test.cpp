// Concats that grow as in DenseNet share one buffer.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/layers.h"
#include "assay/program.h"
#include "execute/compare_engines.h"
#include "execute/preferred_choice.h"

namespace assay {
namespace {

constexpr std::int64_t kFirst = 24;
constexpr std::int64_t kNew = 8;
constexpr std::int64_t kPixels = 9 * 7;

ValueId conv(GraphBuilder& builder, ValueId x, const std::string& name, std::int64_t from,
             std::int64_t to) {
  return builder.node("Conv", name, {x, builder.weight(name + ".w", {to, from, 3, 3}, 0.2)},
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
}

ValueId joined(GraphBuilder& builder, const std::vector<ValueId>& features) {
  return builder.node("Concat", "join" + std::to_string(features.size()), features,
                      {{"axis", std::int64_t{1}}});
}

// Every layer reads all features before it, normalised.
Graph dense_block(std::int64_t batch, int layers, bool shows_the_middle) {
  GraphBuilder builder("dense");
  const ValueId x = builder.input("x", DataType::Float32, Shape{batch, 3, 9, 7});
  std::vector<ValueId> features = {conv(builder, x, "first", 3, kFirst)};
  std::int64_t channels = kFirst;
  for (int i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const ValueId all = features.size() == 1 ? features[0] : joined(builder, features);
    if (shows_the_middle && i == 2) builder.output(Tanh()(builder, all), "middle");
    const ValueId norm = Relu()(builder, BatchNorm2d(channels)(builder, all));
    features.push_back(conv(builder, norm, name, channels, kNew));
    channels += kNew;
  }
  const ValueId last = BatchNorm2d(channels)(builder, joined(builder, features));
  builder.output(conv(builder, Relu()(builder, last), "end", channels, 4), "y");
  return builder.finish();
}

TEST(GrowingConcat, Agrees) {
  for (const std::int64_t batch : {1, 3}) {
    for (const bool shows_the_middle : {false, true}) {
      for (const auto goal : {OptimizeFor::Latency, OptimizeFor::Memory}) {
        const Difference difference =
            compare_engines(dense_block(batch, 5, shows_the_middle), {.optimize_for = goal});
        EXPECT_TRUE(difference.same_shapes);
        EXPECT_LE(difference.largest, 1e-5) << batch << " " << shows_the_middle;
      }
    }
  }
}

// Of 24 channels and 4 times 8, the first Concat copies 32, every other one 8.
TEST(GrowingConcat, CopiesOnlyWhatIsNew) {
  const auto program =
      compile_preferring("winograd 4x4", infer_shapes(dense_block(1, 4, false)), {});
  std::vector<std::int64_t> copied;
  for (const StepInfo& step : program->steps()) {
    if (step.op == "Concat") copied.push_back(step.bytes_written / 4 / kPixels);
  }
  EXPECT_EQ(copied, (std::vector<std::int64_t>{32, 8, 8, 8}));
}

}  // namespace
}  // namespace assay
