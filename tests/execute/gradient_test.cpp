// Gradients against central differences, all in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/builder.h"
#include "assay/differentiate.h"
#include "assay/error.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "compare_engines.h"
#include "gradient_check.h"
#include "support/error_message.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

GradientCase unary(const std::string& op, std::vector<Attribute> attributes = {},
                   bool are_positive = false) {
  return {op,
          {Shape{3, 5}},
          [=](GraphBuilder& builder, const std::vector<ValueId>& x) {
            return builder.node(op, "op", {x[0]}, attributes);
          },
          are_positive};
}

GradientCase binary(const std::string& op, Shape a, Shape b, bool are_positive = false) {
  return {op,
          {std::move(a), std::move(b)},
          [=](GraphBuilder& builder, const std::vector<ValueId>& x) {
            return builder.node(op, "op", {x[0], x[1]});
          },
          are_positive};
}

GradientCase with_all(const std::string& name, const std::string& op, std::vector<Shape> inputs,
                      std::vector<Attribute> attributes = {}) {
  return {name, std::move(inputs), [=](GraphBuilder& builder, const std::vector<ValueId>& x) {
            return builder.node(op, "op", x, attributes);
          }};
}

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> all;
  for (const char* op : {"Neg", "Abs", "Exp", "Relu", "Sigmoid", "Tanh", "Erf", "Softplus", "Sin",
                         "Cos", "HardSwish", "Identity"})
    all.push_back(unary(op));
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) all.push_back(unary(op, {}, true));
  all.push_back(unary("LeakyRelu", {{"alpha", 0.2f}}));
  all.push_back(unary("Elu", {{"alpha", 0.7f}}));
  all.push_back(unary("HardSigmoid", {{"alpha", 0.3f}}));
  for (const std::int64_t axis : {0, 1, -1}) {
    all.push_back(unary("Softmax", {{"axis", axis}}));
    all.push_back(unary("LogSoftmax", {{"axis", axis}}));
  }
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    all.push_back(binary(op, {2, 3, 4}, {2, 3, 4}));
    all.push_back(binary(op, {2, 3, 4}, {3, 1}));
    all.push_back(binary(op, {1, 4}, {2, 3, 1}));
  }
  all.push_back(binary("Div", {2, 3}, {3}, true));
  all.push_back(binary("Pow", {2, 3}, {3}, true));
  all.push_back(with_all("Sum of three", "Sum", {Shape{2, 3}, Shape{3}, Shape{2, 1}}));
  all.push_back(with_all("PRelu", "PRelu", {Shape{2, 3, 4}, Shape{3, 1}}));
  all.push_back({"Clip", {Shape{3, 5}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
                   const std::vector<double> low = {-0.4};
                   const std::vector<double> high = {0.6};
                   return b.node(
                       "Clip", "op",
                       {x[0], b.constant("low", Tensor::of<double>(DataType::Float64, {}, low)),
                        b.constant("high", Tensor::of<double>(DataType::Float64, {}, high))});
                 }});
  all.push_back(
      {"Where", {Shape{2, 3}, Shape{3}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
         const std::vector<std::uint8_t> mask = {1, 0, 1, 0, 0, 1};
         return b.node("Where", "op",
                       {b.constant("mask", Tensor::of<std::uint8_t>(DataType::Bool, {2, 3}, mask)),
                        x[0], x[1]});
       }});
  // --- products
  all.push_back(binary("MatMul", {3, 4}, {4, 2}));
  all.push_back(binary("MatMul", {2, 3, 4}, {4, 5}));
  all.push_back(binary("MatMul", {2, 1, 3, 4}, {5, 4, 2}));
  all.push_back(binary("MatMul", {4}, {4, 3}));
  all.push_back(binary("MatMul", {2, 3, 4}, {4}));
  all.push_back(binary("MatMul", {4}, {2, 4, 3}));
  all.push_back(binary("MatMul", {4}, {4}));
  for (const std::int64_t a : {0, 1}) {
    for (const std::int64_t b : {0, 1}) {
      all.push_back(with_all(
          "Gemm", "Gemm", {a ? Shape{4, 3} : Shape{3, 4}, b ? Shape{2, 4} : Shape{4, 2}, Shape{2}},
          {{"transA", a}, {"transB", b}, {"alpha", 0.5f}, {"beta", 2.0f}}));
    }
  }
  // --- convolutions
  const auto conv = [&](const std::string& name, std::vector<Shape> inputs,
                        std::vector<Attribute> attributes) {
    all.push_back(with_all(name, "Conv", std::move(inputs), std::move(attributes)));
  };
  conv("Conv", {Shape{2, 3, 5, 6}, Shape{4, 3, 3, 3}, Shape{4}}, {{"pads", Ints{1, 1, 1, 1}}});
  conv("Conv stride", {Shape{1, 2, 7, 8}, Shape{3, 2, 3, 2}},
       {{"strides", Ints{2, 3}}, {"pads", Ints{0, 1, 2, 0}}});
  conv("Conv groups", {Shape{2, 4, 5, 5}, Shape{6, 2, 3, 3}, Shape{6}},
       {{"group", std::int64_t{2}}});
  conv("Conv depthwise", {Shape{1, 3, 6, 6}, Shape{3, 1, 3, 3}},
       {{"group", std::int64_t{3}}, {"dilations", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}});
  conv("Conv same", {Shape{1, 2, 5, 7}, Shape{2, 2, 2, 3}},
       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  conv("Conv 1-D", {Shape{2, 3, 9}, Shape{2, 3, 4}}, {{"strides", Ints{2}}});
  conv("Conv 3-D", {Shape{1, 2, 3, 4, 4}, Shape{2, 2, 2, 2, 3}}, {});
  const auto transposed = [&](const std::string& name, std::vector<Shape> inputs,
                              std::vector<Attribute> attributes) {
    all.push_back(with_all(name, "ConvTranspose", std::move(inputs), std::move(attributes)));
  };
  transposed("ConvTranspose", {Shape{2, 3, 4, 4}, Shape{3, 2, 3, 3}, Shape{2}},
             {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}});
  transposed("ConvTranspose groups", {Shape{1, 4, 3, 5}, Shape{4, 1, 2, 3}},
             {{"group", std::int64_t{2}}, {"dilations", Ints{2, 1}}});
  transposed("ConvTranspose same", {Shape{1, 2, 3, 4}, Shape{2, 2, 3, 3}},
             {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}});
  // --- pools
  for (const char* op : {"MaxPool", "AveragePool"}) {
    all.push_back(with_all(op, op, {Shape{2, 2, 5, 6}},
                           {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}}));
    all.push_back(with_all(op, op, {Shape{1, 2, 6, 6}},
                           {{"kernel_shape", Ints{3, 3}},
                            {"strides", Ints{1, 2}},
                            {"pads", Ints{1, 1, 1, 1}},
                            {"ceil_mode", std::int64_t{1}}}));
  }
  all.push_back(with_all("AveragePool padded", "AveragePool", {Shape{1, 2, 5, 5}},
                         {{"kernel_shape", Ints{3, 3}},
                          {"pads", Ints{1, 1, 1, 1}},
                          {"count_include_pad", std::int64_t{1}}}));
  all.push_back(with_all("GlobalAveragePool", "GlobalAveragePool", {Shape{2, 3, 4, 5}}));
  all.push_back(with_all("GlobalMaxPool", "GlobalMaxPool", {Shape{2, 3, 4, 5}}));
  // --- norms
  all.push_back(
      with_all("LayerNormalization", "LayerNormalization", {Shape{3, 4, 6}, Shape{6}, Shape{6}}));
  all.push_back(with_all("LayerNormalization of two axes", "LayerNormalization",
                         {Shape{3, 4, 6}, Shape{4, 6}}, {{"axis", std::int64_t{1}}}));
  all.push_back({"BatchNormalization training",
                 {Shape{3, 2, 4, 4}, Shape{2}, Shape{2}},
                 [](GraphBuilder& b, const std::vector<ValueId>& x) {
                   const std::vector<double> zeros = {0, 0};
                   const std::vector<double> ones = {1, 1};
                   const auto outputs = b.node_with_outputs(
                       "BatchNormalization", "op",
                       {x[0], x[1], x[2],
                        b.constant("mean", Tensor::of<double>(DataType::Float64, {2}, zeros)),
                        b.constant("var", Tensor::of<double>(DataType::Float64, {2}, ones))},
                       3, {{"training_mode", std::int64_t{1}}});
                   return outputs[0];
                 }});
  all.push_back({"BatchNormalization stored",
                 {Shape{3, 2, 4}, Shape{2}, Shape{2}},
                 [](GraphBuilder& b, const std::vector<ValueId>& x) {
                   const std::vector<double> mean = {0.2, -0.1};
                   const std::vector<double> variance = {1.5, 0.7};
                   return b.node(
                       "BatchNormalization", "op",
                       {x[0], x[1], x[2],
                        b.constant("mean", Tensor::of<double>(DataType::Float64, {2}, mean)),
                        b.constant("var", Tensor::of<double>(DataType::Float64, {2}, variance))});
                 }});
  // --- movement
  const auto with_ints = [&](const std::string& op, Shape input, std::vector<Ints> more,
                             std::vector<Attribute> attributes = {}) {
    all.push_back({op, {std::move(input)}, [=](GraphBuilder& b, const std::vector<ValueId>& x) {
                     std::vector<ValueId> inputs = {x[0]};
                     for (const Ints& numbers : more) inputs.push_back(b.ints("ints", numbers));
                     return b.node(op, "op", inputs, attributes);
                   }});
  };
  with_ints("Reshape", {2, 3, 4}, {{4, 6}});
  with_ints("Unsqueeze", {2, 3}, {{0, 2}});
  with_ints("Expand", {3, 1}, {{2, 3, 4}});
  with_ints("Tile", {2, 3}, {{2, 3}});
  with_ints("Slice", {4, 6}, {{1, 5}, {4, -7}, {0, 1}, {1, -2}});
  with_ints("Slice", {4, 6}, {{-3}, {100}, {0}, {2}});
  with_ints("Pad", {2, 3}, {{1, 0, 0, 2}});
  with_ints("Gather", {5, 3}, {{3, 0, 3, -1}});
  with_ints("Gather", {2, 5, 3}, {{4, 4}}, {{"axis", std::int64_t{1}}});
  all.push_back(unary("Transpose", {{"perm", Ints{1, 0}}}));
  all.push_back(unary("Flatten"));
  all.push_back(with_all("Concat", "Concat", {Shape{2, 3}, Shape{2, 1}, Shape{2, 4}},
                         {{"axis", std::int64_t{-1}}}));
  all.push_back(
      {"Split, one part unread", {Shape{5, 3}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
         const auto parts =
             b.node_with_outputs("Split", "op", {x[0], b.ints("sizes", {2, 1, 2})}, 3);
         return b.node("Mul", "mul", {parts[0], parts[2]});
       }});
  // --- resizing
  const auto resized = [&](const std::string& name, Shape input, std::vector<float> scales,
                           Ints sizes, std::vector<Attribute> attributes) {
    all.push_back(
        {name, {std::move(input)}, [=](GraphBuilder& b, const std::vector<ValueId>& x) {
           std::vector<ValueId> inputs = {x[0], ValueId{}, ValueId{}, ValueId{}};
           const auto count = static_cast<std::int64_t>(scales.size());
           if (count > 0) inputs[2] = b.constant("scales", Tensor::of_float({count}, scales));
           if (!sizes.empty()) inputs[3] = b.ints("sizes", sizes);
           if (name.starts_with("crop")) {
             inputs[1] = b.constant("region", Tensor::of_float({4}, {-0.2f, 0.1f, 0.8f, 1.2f}));
           }
           return b.node("Resize", "op", inputs, attributes);
         }});
  };
  const auto text = [](const char* name, const char* value) {
    return Attribute{name, std::string(value)};
  };
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "asymmetric",
                                    "align_corners", "half_pixel_symmetric"}) {
      const std::vector<Attribute> how = {text("mode", mode),
                                          text("coordinate_transformation_mode", coordinates)};
      const std::string name = std::string(mode) + " " + coordinates;
      resized(name + " up", {2, 3, 4}, {1, 2, 1.5f}, {}, how);
      resized(name + " down", {1, 5, 7}, {}, {1, 3, 2}, how);
    }
    resized("crop " + std::string(mode), {5, 4}, {}, {6, 3},
            {text("mode", mode), text("coordinate_transformation_mode", "tf_crop_and_resize")});
  }
  for (const char* nearest : {"floor", "ceil", "round_prefer_ceil"}) {
    resized(nearest, {4, 5}, {}, {7, 3}, {text("nearest_mode", nearest)});
  }
  resized("smooth", {6, 7}, {}, {3, 4}, {text("mode", "linear"), {"antialias", std::int64_t{1}}});
  resized("excluding", {4, 4}, {}, {7, 6},
          {text("mode", "cubic"), {"exclude_outside", std::int64_t{1}}, {"cubic_coeff_a", -0.5f}});
  // --- reductions
  for (const char* op : {"ReduceMean", "ReduceSumSquare", "ReduceL2", "ReduceL1", "ReduceLogSumExp",
                         "ReduceMax", "ReduceMin"}) {
    all.push_back(
        with_all(op, op, {Shape{2, 3, 4}}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}}));
    all.push_back(with_all(op, op, {Shape{2, 3, 4}}, {{"axes", Ints{-1, 0}}}));
    all.push_back(with_all(op, op, {Shape{2, 3}}));
  }
  with_ints("ReduceSum", {2, 3, 4}, {{0, -1}}, {{"keepdims", std::int64_t{0}}});
  // --- losses
  for (const char* reduction : {"mean", "sum", "none"}) {
    for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
      all.push_back(
          {std::string(op) + " " + reduction,
           {Shape{3, 4, 2}},
           [=](GraphBuilder& b, const std::vector<ValueId>& x) {
             const std::vector<double> weights = {0.5, 1, 2, 0.7};
             return b.node(
                 op, "op",
                 {x[0], b.constant("targets", Tensor::of_int64({3, 2}, {0, 3, 2, 1, 1, 0})),
                  b.constant("weights", Tensor::of<double>(DataType::Float64, {4}, weights))},
                 {{"reduction", std::string(reduction)}, {"ignore_index", std::int64_t{3}}});
           }});
    }
  }
  // --- values read more than once
  all.push_back(
      {"read twice", {Shape{3, 4}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
         const ValueId a = b.node("Tanh", "tanh", {x[0]});
         return b.node("Add", "add", {b.node("Mul", "square", {a, a}), b.node("Exp", "exp", {a})});
       }});
  return all;
}

TEST(Gradient, OfEveryOpIsItsSlope) {
  for (const GradientCase& one : gradient_cases()) {
    EXPECT_LT(worst_error(one), 1e-7) << one.name;
  }
}

TEST(Gradient, OfGeluIsItsSlope) {
  for (const char* form : {"none", "tanh"}) {
    GradientCase gelu = unary("Gelu", {{"approximate", std::string(form)}});
    EXPECT_LT(worst_error(gelu, 20), 1e-6) << form;
  }
}

TEST(Gradient, OfSoftmaxOverAllAxesFromOneOnIsItsSlope) {
  GradientCase flattened =
      with_all("Softmax", "Softmax", {Shape{2, 3, 4}}, {{"axis", std::int64_t{1}}});
  EXPECT_LT(worst_error(flattened, 11), 1e-6);
}

// The same graph with other weights, and values of the types that those have.
Graph with_weights(const Graph& graph, const std::function<Tensor(const Tensor&)>& change) {
  Graph copy;
  copy.opsets = graph.opsets;
  for (const Value& value : graph.values()) {
    ValueType type = value.type;
    if (type.element == DataType::Float32) type.element = DataType::Float64;
    copy.add_value(value.name, std::move(type));
  }
  for (const Node& node : graph.nodes()) copy.add_node(node);
  for (const ValueId input : graph.inputs()) copy.add_input(input);
  for (const ValueId output : graph.outputs()) copy.add_output(output);
  for (const Initializer& one : graph.initializers()) {
    copy.add_initializer(one.value,
                         is_floating(one.tensor.type()) ? change(one.tensor) : one.tensor);
  }
  return copy;
}

Tensor doubles(const Tensor& like, const std::vector<double>& numbers) {
  return Tensor::of<double>(DataType::Float64, like.dims(), numbers);
}

double direction(std::size_t weight, std::size_t element) {
  return std::sin(0.37 * static_cast<double>(element) + static_cast<double>(weight) + 1);
}

Graph in_double(const Graph& graph) {
  return with_weights(graph,
                      [](const Tensor& weight) { return doubles(weight, weight.to_double()); });
}

// Every weight but statistics moved by `step` along a direction of its own.
Graph moved(const Graph& graph, double step, const std::vector<bool>& is_statistic) {
  std::size_t weight = 0;
  return with_weights(graph, [&](const Tensor& tensor) {
    auto numbers = tensor.to_double();
    for (std::size_t i = 0; !is_statistic[weight] && i < numbers.size(); ++i) {
      numbers[i] += step * direction(weight, i);
    }
    ++weight;
    return doubles(tensor, numbers);
  });
}

// Stored means and variances of a batch norm are not learned.
bool is_statistic(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.is("BatchNormalization") && (node.inputs[3] == value || node.inputs[4] == value);
  });
}

class NetworkGradient : public testing::TestWithParam<const char*> {};

TEST_P(NetworkGradient, IsTheSlopeAlongAnyDirectionOfItsWeights) {
  Graph graph = infer_shapes(in_double(zoo_model(GetParam()))).graph;
  const ValueId loss = add_sum_of_squares(graph);
  graph.add_output(loss);
  std::vector<ValueId> weights;
  std::vector<bool> are_statistics;
  for (const Initializer& one : graph.initializers()) {
    if (one.tensor.type() != DataType::Float64) continue;
    weights.push_back(one.value);
    are_statistics.push_back(is_statistic(graph, one.value));
  }
  Differentiated both = differentiate(infer_shapes(graph), loss, weights);
  const std::size_t first = both.graph.outputs().size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ValueId gradient = both.gradients[i].gradient;
    ASSERT_EQ(gradient.is_valid(), !are_statistics[i]) << graph.value(weights[i]).name;
    if (gradient.is_valid()) both.graph.add_output(gradient);
  }
  std::vector<Value> values;
  for (const ValueId input : graph.inputs()) values.push_back(graph.value(input));
  const auto inputs = random_inputs(values, 3);
  const auto results = run(both.graph, inputs);
  double expected = 0;
  std::size_t output = first;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (are_statistics[i]) continue;
    const auto gradient = results[output++].to_double();
    ASSERT_EQ(gradient.size(), graph.initializer(weights[i])->to_double().size());
    for (std::size_t j = 0; j < gradient.size(); ++j) expected += gradient[j] * direction(i, j);
  }
  constexpr double kStep = 1e-6;
  const auto number = [&](double step) {
    return run(moved(graph, step, are_statistics), inputs).back().to_double().front();
  };
  const double slope = (number(kStep) - number(-kStep)) / (2 * kStep);
  EXPECT_GT(std::abs(slope), 1e-6);
  EXPECT_NEAR(expected, slope, 1e-6 * std::abs(slope));
}

INSTANTIATE_TEST_SUITE_P(Zoo, NetworkGradient,
                         testing::Values("mlp", "small_cnn", "small_cnn_gap:batch=2", "lenet5",
                                         "stream_mlp", "lstm:length=3,inputs=4,hidden=5,batch=2",
                                         "encoder:layers=1,width=16,heads=2,length=5"));

TEST(Gradient, IsTheSameOnBothEngines) {
  for (const char* model :
       {"mlp", "small_cnn:batch=2", "encoder:layers=1,width=16,heads=2,length=5",
        "lstm:length=3,inputs=4,hidden=5,batch=2"}) {
    Graph graph = infer_shapes(zoo_model(model)).graph;
    const ValueId loss = add_sum_of_squares(graph);
    std::vector<ValueId> weights;
    for (const Initializer& one : graph.initializers()) {
      if (is_floating(one.tensor.type()) && one.tensor.elements() > 1) weights.push_back(one.value);
    }
    Differentiated both = differentiate(infer_shapes(graph), loss, weights);
    for (const ValueGradient& pair : both.gradients) {
      if (pair.gradient.is_valid()) both.graph.add_output(pair.gradient);
    }
    const Difference difference = compare_engines(both.graph, {.cpu = {.threads = 2}});
    EXPECT_TRUE(difference.same_shapes) << model;
    // Squares of what a layer norm made hardly change: its gradients are what cancelling leaves.
    EXPECT_LT(difference.largest, 1e-3) << model << ": " << difference.where;
  }
}

Graph own_op(const std::string& op, const std::vector<ValueType>& inputs,
             std::vector<Attribute> attributes) {
  Graph graph;
  graph.opsets = {{"", 17}, {std::string(kOwnDomain), 1}};
  Node node{.name = "op", .op = op, .domain = std::string(kOwnDomain)};
  node.attributes = std::move(attributes);
  for (const ValueType& type : inputs) {
    const ValueId value = graph.add_value("x" + std::to_string(graph.value_count()), type);
    graph.add_input(value);
    node.inputs.push_back(value);
  }
  node.outputs = {graph.add_value("y")};
  graph.add_output(node.outputs[0]);
  graph.add_node(std::move(node));
  return graph;
}

TEST(GatherGradient, IsTheSameOnBothEngines) {
  struct Picking {
    Ints dims;
    std::int64_t axis;
    Ints picked;  // dimensions of the indices
  };
  const std::vector<Picking> pickings = {{{7}, 0, {5}},           {{50, 33}, 0, {4, 9}},
                                         {{1000, 64}, 0, {300}},  {{3, 20, 17}, 1, {2, 7}},
                                         {{5, 4, 130}, 2, {200}}, {{4, 9, 3}, -2, {1}}};
  for (const Picking& one : pickings) {
    for (const DataType type : {DataType::Int64, DataType::Int32}) {
      const auto at = static_cast<std::size_t>(one.axis < 0 ? one.axis + 3 : one.axis);
      Ints gradient(one.dims.begin(), one.dims.begin() + static_cast<std::ptrdiff_t>(at));
      gradient.insert(gradient.end(), one.picked.begin(), one.picked.end());
      gradient.insert(gradient.end(), one.dims.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      one.dims.end());
      const Graph graph = own_op(
          "GatherGradient",
          {tensor_type(type, Shape(one.picked)), tensor_type(DataType::Float32, Shape(gradient))},
          {{"axis", one.axis}, {"input_dims", one.dims}});
      auto inputs = random_inputs(compile(infer_shapes(graph))->inputs(), 5);
      std::vector<std::int64_t> rows;
      for (std::int64_t i = 0; i < inputs[0].elements(); ++i)
        rows.push_back(i * i * 31 % one.dims[at] - (i % 3 == 0 ? one.dims[at] : 0));
      inputs[0] =
          type == DataType::Int64
              ? Tensor::of_int64(one.picked, rows)
              : Tensor::of<std::int32_t>(DataType::Int32, one.picked,
                                         std::vector<std::int32_t>(rows.begin(), rows.end()));
      expect_same_on_any_threads(graph, inputs);
    }
  }
}

TEST(GatherGradient, RefusesAnIndexOutsideOnBothEngines) {
  const Graph graph = own_op(
      "GatherGradient",
      {tensor_type(DataType::Int64, Shape{2}), tensor_type(DataType::Float32, Shape{2, 8000})},
      {{"axis", std::int64_t{0}}, {"input_dims", Ints{3, 8000}}});
  for (const std::string engine : {"reference", "cpu"}) {
    const auto program = compile(infer_shapes(graph), {.engine = engine, .cpu = {.threads = 2}});
    auto inputs = random_inputs(program->inputs(), 5);
    inputs[0] = Tensor::of_int64({2}, {1, 3});
    program->set_inputs(inputs);
    EXPECT_THROW(program->run(), Error);
  }
}

// Forward and back, whatever the layout and the mode.
TEST(Resize, IsTheSameOnBothEngines) {
  const std::vector<std::pair<Ints, Ints>> sizes = {{{2, 3, 5, 7}, {2, 3, 10, 14}},
                                                    {{1, 20, 9, 8}, {1, 20, 4, 3}},
                                                    {{2, 5, 6}, {2, 9, 6}},
                                                    {{3, 4, 4}, {5, 3, 7}},
                                                    {{2, 3, 40, 50}, {2, 3, 80, 75}}};
  for (const auto& [from, to] : sizes) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
        GraphBuilder builder("resize");
        const ValueId x = builder.input("x", DataType::Float32, Shape(from));
        builder.output(
            builder.node("Resize", "resize", {x, ValueId{}, ValueId{}, builder.ints("sizes", to)},
                         {{"mode", std::string(mode)},
                          {"coordinate_transformation_mode", std::string(coordinates)}}),
            "y");
        const Graph both = with_gradient_of_input(builder.finish());
        const auto inputs = random_inputs(compile(infer_shapes(both))->inputs(), 5);
        expect_same_on_any_threads(both, inputs);
      }
    }
  }
}

// Attributes of a hostile file: refused, never read or written beyond a tensor.
TEST(GradientOps, RefuseWhatDoesNotFit) {
  const auto message = [](const std::string& op, std::vector<Shape> inputs,
                          std::vector<Attribute> attributes) -> std::string {
    std::vector<ValueType> types;
    for (const Shape& shape : inputs) types.push_back(tensor_type(DataType::Float32, shape));
    const Graph graph = own_op(op, types, std::move(attributes));
    return error_message([&] {
      const auto program = compile(infer_shapes(graph), {.engine = "reference"});
      program->set_inputs(random_inputs(program->inputs()));
      program->run();
    });
  };
  const Ints huge = {std::int64_t{1} << 62};
  EXPECT_NE(message("SliceGradient", {Shape{3}},
                    {{"input_dims", Ints{5}}, {"starts", Ints{4}}, {"steps", Ints{1}}}),
            "");
  EXPECT_NE(message("SliceGradient", {Shape{3}},
                    {{"input_dims", Ints{5}}, {"starts", Ints{0}}, {"steps", huge}}),
            "");
  EXPECT_NE(message("SliceGradient", {Shape{3}},
                    {{"input_dims", Ints{-5}}, {"starts", Ints{0}}, {"steps", Ints{1}}}),
            "");
  EXPECT_NE(message("SliceGradient", {Shape{3}}, {}), "");
  const std::vector<Attribute> one_of_five = {
      {"input_dims", Ints{5}}, {"starts", Ints{4}}, {"steps", huge}};
  EXPECT_EQ(message("SliceGradient", {Shape{1}}, one_of_five), "");
  EXPECT_NE(message("ConvInputGradient", {Shape{1, 2, 4, 4}, Shape{2, 3, 3, 3}},
                    {{"input_dims", Ints{1, 3, 9, 9}}}),
            "");
  EXPECT_NE(message("ConvInputGradient", {Shape{1, 2, 4, 4}, Shape{2, 3, 3, 3}},
                    {{"input_dims", Ints{1, 3, 6, 6}}, {"group", std::int64_t{0}}}),
            "");
  EXPECT_EQ(message("ConvInputGradient", {Shape{1, 2, 4, 4}, Shape{2, 3, 3, 3}},
                    {{"input_dims", Ints{1, 3, 6, 6}}}),
            "");
  EXPECT_NE(message("ConvInputGradient", {Shape{}, Shape{}}, {{"input_dims", Ints{}}}), "");
  EXPECT_NE(message("ConvWeightGradient", {Shape{1, 3, 6, 6}, Shape{1, 2, 4, 4}},
                    {{"weight_dims", Ints{2, 3, -3, 3}}}),
            "");
  EXPECT_NE(message("MaxPoolGradient", {Shape{1, 2, 4, 4}, Shape{1, 2, 3, 3}},
                    {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
            "");
  EXPECT_NE(message("AveragePoolGradient", {Shape{1, 2, 2, 2}},
                    {{"kernel_shape", Ints{2, 2}}, {"input_dims", Ints{4}}}),
            "");
  EXPECT_NE(message("BatchNormalizationGradient", {Shape{2, 3, 4}, Shape{2}, Shape{2, 3, 4}}, {}),
            "");
  EXPECT_NE(message("LayerNormalizationGradient", {Shape{2, 3}, Shape{2}, Shape{2, 3}}, {}), "");
  EXPECT_NE(message("ResizeGradient", {Shape{4, 4}}, {{"input_dims", Ints{2, 2}}}), "");
  EXPECT_NE(message("ResizeGradient", {Shape{4, 4}, Shape{1}, Shape{2}}, {{"input_dims", Ints{4}}}),
            "");
  EXPECT_NE(message("ReluGradient", {Shape{2, 3}, Shape{3, 2}}, {}), "");
  const Shape x{5, 1, 3};
  const Shape weight{1, 8, 3};
  const Shape recurrence{1, 8, 2};
  const Shape bias{1, 16};
  const auto lstm = [&](std::vector<Shape> operands, std::vector<Attribute> attributes) {
    return message("LstmGradient", std::move(operands), std::move(attributes));
  };
  EXPECT_EQ(lstm({x, weight, recurrence, bias}, {}), "");
  EXPECT_NE(lstm({x, weight}, {}), "");
  EXPECT_NE(lstm({x, weight, Shape{1, 8, 3}, bias}, {}), "");
  EXPECT_NE(lstm({x, weight, recurrence, Shape{1, 8}}, {}), "");
  EXPECT_NE(lstm({x, weight, recurrence, bias}, {{"hidden_size", std::int64_t{-2}}}), "");
  EXPECT_NE(lstm({x, weight, recurrence}, {{"direction", std::string("sideways")}}), "");
  const std::vector<Shape> given = {
      x,           weight,           recurrence, bias, Shape{1}, Shape{1, 1, 2}, Shape{1, 1, 2},
      Shape{1, 6}, Shape{4, 1, 1, 2}};
  EXPECT_NE(lstm(given, {}), "");
  EXPECT_NE(message("SoftmaxGradient", {Shape{2, 3}, Shape{2, 3}}, {{"axis", std::int64_t{7}}}),
            "");
}

std::string refusal(const GradientCase& one) {
  const Scene scene = scene_of(one);
  const Inferred inferred = infer_shapes(scene.graph);
  return error_message([&] { differentiate(inferred, scene.loss, inferred.graph.inputs()); });
}

TEST(Gradient, NamesWhatHasNone) {
  EXPECT_THAT(refusal(unary("Floor")), testing::HasSubstr("Floor ('op')"));
  EXPECT_THAT(refusal(with_all("Pad", "Round", {Shape{2}})), testing::HasSubstr("Round ('op')"));
}

TEST(Gradient, OfASplitNeedsAllItsParts) {
  GraphBuilder builder("parts");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 6});
  const auto parts = builder.node_with_outputs("Split", "split", {x}, 2, {});
  builder.output(parts[0], "y");
  Graph graph = builder.finish();
  graph.node(NodeId{0}).outputs[1] = ValueId{};
  graph = infer_shapes(std::move(graph)).graph;
  const ValueId loss = add_sum_of_squares(graph);
  EXPECT_THAT([&] { differentiate(infer_shapes(graph), loss, std::vector{x}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("its output 1 is left out")));
}

TEST(Gradient, IsMissingWhereTheLossDoesNotDepend) {
  GraphBuilder builder("apart");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  const ValueId unused = builder.input("unused", DataType::Float32, Shape{2});
  builder.output(builder.node("Neg", "neg", {x}), "y");
  Graph graph = infer_shapes(builder.finish()).graph;
  const ValueId loss = add_sum_of_squares(graph);
  const std::vector<ValueId> by = {x, unused};
  const Differentiated both = differentiate(infer_shapes(graph), loss, by);
  EXPECT_TRUE(both.gradients[0].gradient.is_valid());
  EXPECT_FALSE(both.gradients[1].gradient.is_valid());
  EXPECT_EQ(both.forward_nodes, 2u);
}

}  // namespace
}  // namespace assay
