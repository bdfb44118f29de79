#include <gtest/gtest.h>

#include "assay/builder.h"
#include "execute/compare_engines.h"

namespace assay {
namespace {

// Pooling by attention: weights of time steps, [batch, steps, 1].
TEST(SoftmaxEngines, AnAxisBeforeAxesOfOneElementIsTheLastOne) {
  GraphBuilder builder("pooling");
  const ValueId scores = builder.input("scores", DataType::Float32, Shape{2, 5, 1});
  builder.output(builder.node("Softmax", "weights", {scores}, {{"axis", std::int64_t{1}}}), "y");
  const Graph graph = builder.finish();
  std::vector<float> numbers;
  for (int i = 0; i < 10; ++i) numbers.push_back(0.3f * static_cast<float>(i % 7) - 1);
  expect_same_on_any_threads(graph, {Tensor::of_float({2, 5, 1}, numbers)});
}

TEST(SoftmaxEngines, AnyAxis) {
  std::vector<float> numbers;
  for (int i = 0; i < 480; ++i) numbers.push_back(0.3f * static_cast<float>(i * 31 % 17) - 1);
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {0, 1, 2, -2}) {
      GraphBuilder builder("softmax");
      const ValueId scores = builder.input("scores", DataType::Float32, Shape{2, 16, 3, 5});
      builder.output(builder.node(op, "weights", {scores}, {{"axis", axis}}), "y");
      expect_same_on_any_threads(builder.finish(), {Tensor::of_float({2, 16, 3, 5}, numbers)});
    }
  }
}

}  // namespace
}  // namespace assay
