#include <algorithm>
#include <cmath>

#include "assay/zoo.h"
#include "graph/seeded.h"

namespace assay {

namespace {

struct Range {
  float largest = 0;  // magnitude
  bool is_constant = true;
};

Range range_of(const Tensor& tensor) {
  const auto numbers = tensor.to_vector<float>();
  Range range;
  for (const float number : numbers) {
    range.largest = std::max(range.largest, std::abs(number));
    range.is_constant = range.is_constant && number == numbers.front();
  }
  return range;
}

// Built-in networks draw weights uniformly from -bound to bound; what is constant (biases of 0,
// scales of 1, running statistics) is not drawn at all.
Tensor redrawn_tensor(const std::string& name, const Tensor& tensor, std::uint64_t seed) {
  if (tensor.type() != DataType::Float32) return tensor;
  const Range range = range_of(tensor);
  if (range.is_constant) return tensor;
  return graph::seeded_uniform(seed, name, tensor.dims(), range.largest);
}

}  // namespace

Graph redrawn(const Graph& network, std::uint64_t seed) {
  Graph copy = network.declarations();
  for (const Initializer& initializer : network.initializers()) {
    const std::string& name = network.value(initializer.value).name;
    copy.add_initializer(initializer.value, redrawn_tensor(name, initializer.tensor, seed));
  }
  for (const Node& node : network.nodes()) copy.add_node(node);
  return copy;
}

}  // namespace assay
