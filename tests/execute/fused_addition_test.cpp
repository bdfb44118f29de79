// A convolution in 8 bits and the sum after it in one step: to the last bit what they are one after
// the other. One step more or less would spread through a deep network.
#include <gtest/gtest.h>

#include <random>

#include "assay/graph.h"
#include "assay/program.h"
#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay {
namespace {

// y = a + b, two convolutions of one image. With these scales many sums lie in the middle between
// two steps, where the order of roundings decides.
class TwoConvolutions {
 public:
  TwoConvolutions() {
    graph_.opsets = {{"", 17}, {"com.microsoft", 1}};
    image_ = value(bytes<std::uint8_t>(DataType::UInt8, {1, 32, 14, 14}, 0, 255));
    graph_.add_input(image_.first);
    convolution("a", 0.1f, 120);
    convolution("b", 0.3f, 131);
  }

  const Tensor& image() const { return image_.second; }

  // Where the convolutions are outputs too, nothing is fused.
  Graph graph(bool a_is_first, bool has_all_outputs) const {
    Graph result = graph_;
    const auto number = [&](Tensor tensor) { return add(result, std::move(tensor)); };
    Node sum;
    sum.name = "y";
    sum.op = "QLinearAdd";
    sum.domain = "com.microsoft";
    for (const std::size_t i : {a_is_first ? 0u : 1u, a_is_first ? 1u : 0u}) {
      sum.inputs.push_back(results_[i]);
      sum.inputs.push_back(number(real(i == 0 ? 0.1f : 0.3f)));
      sum.inputs.push_back(number(byte(i == 0 ? 120 : 131)));
    }
    sum.inputs.push_back(number(real(0.2f)));
    sum.inputs.push_back(number(byte(7)));
    sum.outputs = {result.add_value("y")};
    result.add_output(sum.outputs[0]);
    for (std::size_t i = 0; has_all_outputs && i < results_.size(); ++i)
      result.add_output(results_[i]);
    result.add_node(std::move(sum));
    return result;
  }

 private:
  static Tensor real(float number) {
    return Tensor::of<float>(DataType::Float32, {}, std::vector{number});
  }
  static Tensor byte(int number) {
    return Tensor::of<std::uint8_t>(DataType::UInt8, {},
                                    std::vector{static_cast<std::uint8_t>(number)});
  }
  template <typename T>
  Tensor bytes(DataType type, const Dims& dims, int low, int high) {
    std::size_t count = 1;
    for (const std::int64_t size : dims) count *= static_cast<std::size_t>(size);
    std::uniform_int_distribution<int> pick(low, high);
    std::vector<T> numbers(count);
    for (T& number : numbers) number = static_cast<T>(pick(random_));
    return Tensor::of<T>(type, dims, numbers);
  }
  std::pair<ValueId, Tensor> value(Tensor tensor) {
    return {graph_.add_value("image", tensor_type(tensor.type(), Shape(tensor.dims()))), tensor};
  }
  static ValueId add(Graph& graph, Tensor tensor) {
    const ValueId id = graph.add_value("v" + std::to_string(graph.value_count()),
                                       tensor_type(tensor.type(), Shape(tensor.dims())));
    graph.add_initializer(id, std::move(tensor));
    return id;
  }
  void convolution(const std::string& name, float scale, int zero_point) {
    Node node;
    node.name = name;
    node.op = "QLinearConv";
    node.inputs = {image_.first, add(graph_, real(0.02f)), add(graph_, byte(110)),
                   add(graph_, bytes<std::int8_t>(DataType::Int8, {64, 32, 1, 1}, -127, 127))};
    node.inputs.push_back(add(graph_, real(0.01f)));
    node.inputs.push_back(
        add(graph_, Tensor::of<std::int8_t>(DataType::Int8, {}, std::vector<std::int8_t>{0})));
    node.inputs.push_back(add(graph_, real(scale)));
    node.inputs.push_back(add(graph_, byte(zero_point)));
    node.outputs = {graph_.add_value(name)};
    results_.push_back(node.outputs[0]);
    graph_.add_node(std::move(node));
  }

  std::mt19937_64 random_{1};
  Graph graph_;
  std::pair<ValueId, Tensor> image_;
  std::vector<ValueId> results_;
};

Tensor sum_of(const Graph& graph, const Tensor& image, std::size_t& steps) {
  const auto program =
      compile(infer_shapes(graph), {.optimize_for = OptimizeFor::Memory, .cpu = {.threads = 1}});
  steps = program->steps().size();
  program->set_inputs(std::vector{image});
  program->run();
  return program->results()[0];
}

TEST(FusedAddition, ByTilesIsRoundedAsTheAdditionAlone) {
  // Emulated ones round products before they are added.
  if (cpu::tiles() == nullptr) GTEST_SKIP() << "no tile instructions here";
  const TwoConvolutions two;
  for (const bool a_is_first : {true, false}) {
    std::size_t fused_steps = 0, steps = 0;
    const Tensor fused = sum_of(two.graph(a_is_first, false), two.image(), fused_steps);
    const Tensor alone = sum_of(two.graph(a_is_first, true), two.image(), steps);
    EXPECT_LT(fused_steps, steps);
    EXPECT_EQ(fused, alone) << "a first: " << a_is_first;
  }
}

// By whatever this processor has: masked ones run this test, too.
TEST(FusedAddition, IsRoundedAsTheAdditionAlone) {
  const TwoConvolutions two;
  for (const bool a_is_first : {true, false}) {
    std::size_t steps = 0;
    EXPECT_EQ(sum_of(two.graph(a_is_first, false), two.image(), steps),
              sum_of(two.graph(a_is_first, true), two.image(), steps))
        << "a first: " << a_is_first;
  }
}

}  // namespace
}  // namespace assay
