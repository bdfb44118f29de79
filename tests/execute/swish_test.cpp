// x · sigmoid(x), as exporters write it: a Sigmoid and a Mul that both read x.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "compare_engines.h"

namespace assay {
namespace {

enum class Order { SigmoidFirst, SigmoidSecond };

Graph swish_of_two(Order order, const Shape& shape, bool has_sum) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, shape);
  const ValueId other = builder.input("other", DataType::Float32, shape);
  const ValueId sigmoid = builder.node("Sigmoid", "sigmoid", {x});
  const ValueId y = order == Order::SigmoidFirst ? builder.node("Mul", "mul", {sigmoid, x})
                                                 : builder.node("Mul", "mul", {x, sigmoid});
  builder.output(has_sum ? builder.node("Sub", "sub", {other, y}) : y, "y");
  if (!has_sum) builder.output(builder.node("Neg", "neg", {other}), "z");
  return builder.finish();
}

TEST(Swish, AgreesInEveryForm) {
  for (const Order order : {Order::SigmoidFirst, Order::SigmoidSecond}) {
    for (const Shape& shape : {Shape{1, 24, 7, 9}, Shape{3, 5}}) {
      for (const bool has_sum : {true, false}) {
        const Difference difference = compare_engines(swish_of_two(order, shape, has_sum));
        EXPECT_TRUE(difference.same_shapes);
        EXPECT_LE(difference.largest, 1e-6);
      }
    }
  }
}

// Mul(sigmoid(x), z) is no swish, even where it follows one.
TEST(Swish, IsOnlyTheProductWithTheSameValue) {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 33});
  const ValueId z = builder.input("z", DataType::Float32, Shape{2, 33});
  const ValueId gate = builder.node("Mul", "gate", {builder.node("Sigmoid", "sigmoid", {x}), z});
  builder.output(builder.node("Mul", "again", {gate, x}), "y");
  const Difference difference = compare_engines(builder.finish());
  EXPECT_LE(difference.largest, 1e-6);
}

}  // namespace
}  // namespace assay
