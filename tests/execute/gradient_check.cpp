#include "gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "assay/differentiate.h"
#include "assay/infer.h"
#include "assay/program.h"

namespace assay {

namespace {

Tensor of_type(DataType type, const std::vector<std::int64_t>& dims,
               const std::vector<double>& numbers) {
  if (type == DataType::Float32)
    return Tensor::of_float(dims, std::vector<float>(numbers.begin(), numbers.end()));
  return Tensor::of<double>(type, dims, numbers);
}

}  // namespace

Scene scene_of(const GradientCase& one, std::int64_t opset) {
  GraphBuilder builder(one.name, 0, opset);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    inputs.push_back(builder.input("x" + std::to_string(i), one.type, one.inputs[i]));
  }
  const ValueId result = one.build(builder, inputs);
  builder.output(result, "y");
  Graph graph = builder.finish();
  const Inferred inferred = infer_shapes(graph);
  std::vector<double> weights;
  const auto dims = inferred.graph.value(result).type.shape->values();
  const std::int64_t count = inferred.graph.value(result).type.shape->elements().value();
  for (std::int64_t i = 0; i < count; ++i)
    weights.push_back(std::cos(1.7 * static_cast<double>(i)) + 0.3);
  const ValueId weight = graph.add_value("weights");
  graph.add_initializer(weight, of_type(one.type, dims, weights));
  const ValueId product = graph.add_value("product");
  graph.add_node({.name = "product",
                  .op = "Mul",
                  .domain = "",
                  .inputs = {result, weight},
                  .outputs = {product}});
  const ValueId loss = graph.add_value("loss");
  graph.add_node({.name = "loss",
                  .op = "ReduceSum",
                  .domain = "",
                  .inputs = {product},
                  .outputs = {loss},
                  .attributes = {{"keepdims", std::int64_t{0}}}});
  graph.add_output(loss);
  return {std::move(graph), loss};
}

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto program = compile(infer_shapes(graph), {.engine = "reference"});
  program->set_inputs(inputs);
  program->run();
  return program->results();
}

namespace {

std::vector<Tensor> inputs_for(const GradientCase& one, const Graph& graph) {
  std::vector<Value> values;
  for (const ValueId input : graph.inputs()) values.push_back(graph.value(input));
  auto tensors = random_inputs(values, 7);
  if (!one.are_positive) return tensors;
  for (Tensor& tensor : tensors) {
    auto numbers = tensor.to_double();
    for (double& number : numbers) number = 0.5 + std::abs(number);
    tensor = Tensor::of<double>(DataType::Float64, tensor.dims(), numbers);
  }
  return tensors;
}

double loss_at(Program& program, std::vector<Tensor> inputs, std::size_t which, std::size_t at,
               double by) {
  auto numbers = inputs[which].to_double();
  numbers[at] += by;
  inputs[which] = Tensor::of<double>(DataType::Float64, inputs[which].dims(), numbers);
  program.set_inputs(inputs);
  program.run();
  return program.results().back().to_double().front();
}

}  // namespace

double worst_error(const GradientCase& one, std::int64_t opset) {
  Scene scene = scene_of(one, opset);
  const Inferred inferred = infer_shapes(scene.graph);
  const std::vector<ValueId> by(inferred.graph.inputs().begin(), inferred.graph.inputs().end());
  Differentiated both = differentiate(inferred, scene.loss, by);
  for (const ValueGradient& pair : both.gradients) both.graph.add_output(pair.gradient);
  const auto inputs = inputs_for(one, scene.graph);
  const auto results = run(both.graph, inputs);
  const auto program = compile(infer_shapes(scene.graph), {.engine = "reference"});
  double error = 0;
  double largest = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& gradient = results[results.size() - inputs.size() + i];
    EXPECT_EQ(gradient.dims(), inputs[i].dims()) << one.name;
    const auto numbers = gradient.to_double();
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      constexpr double kStep = 1e-5;
      const double slope =
          (loss_at(*program, inputs, i, j, kStep) - loss_at(*program, inputs, i, j, -kStep)) /
          (2 * kStep);
      error = std::max(error, std::abs(slope - numbers[j]));
      largest = std::max(largest, std::abs(numbers[j]));
    }
  }
  return error / std::max(largest, 1e-3);
}

Graph with_gradient_of_input(const Graph& graph) {
  Graph inferred = infer_shapes(graph).graph;
  const ValueId loss = add_sum_of_squares(inferred);
  const std::vector<ValueId> by = {inferred.inputs()[0]};
  Differentiated both = differentiate(infer_shapes(inferred), loss, by);
  both.graph.add_output(both.gradients[0].gradient);
  return std::move(both.graph);
}

}  // namespace assay
