// Holds gradients against central differences, in double precision on the reference engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/builder.h"

namespace assay {

using Build = std::function<ValueId(GraphBuilder&, const std::vector<ValueId>&)>;

// A piece of a graph under test, and the shapes of its inputs.
struct GradientCase {
  std::string name = {};
  std::vector<Shape> inputs = {};
  Build build = {};
  bool are_positive = false;  // inputs, for roots and logarithms
  DataType type = DataType::Float64;
};

// A graph whose loss is the result, each element weighed differently.
struct Scene {
  Graph graph = {};
  ValueId loss = {};
};

Scene scene_of(const GradientCase& one, std::int64_t opset = 17);

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs);

// The largest difference between a gradient and the slope, relative to the largest gradient.
double worst_error(const GradientCase& one, std::int64_t opset = 17);

// The graph with the gradient of its first input, of the sum of its output's squares, as one more
// output.
Graph with_gradient_of_input(const Graph& graph);

}  // namespace assay
