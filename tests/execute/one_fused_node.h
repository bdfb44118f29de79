// A graph of one operator of com.microsoft, of a standard one or of our own, for tests.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

// A graph of one node whose inputs are runtime inputs or constants.
class OneFusedNode {
 public:
  explicit OneFusedNode(std::string op, std::uint64_t seed = 1) : random_(seed) {
    node_.op = std::move(op);
    node_.name = "fused";
    node_.domain = "com.microsoft";
    graph_.opsets = {{"", 17}, {"com.microsoft", 1}};
  }

  OneFusedNode& standard() {
    node_.domain = "";
    return *this;
  }
  OneFusedNode& own() {
    node_.domain = std::string(kOwnDomain);
    graph_.opsets[node_.domain] = 1;
    return *this;
  }
  OneFusedNode& opset(std::int64_t version) {
    graph_.opsets[""] = version;
    return *this;
  }
  OneFusedNode& set(const char* name, AttributeValue value) {
    node_.set(name, std::move(value));
    return *this;
  }
  OneFusedNode& floats(const Dims& dims) { return input(random_floats(dims)); }
  OneFusedNode& weights(const Dims& dims) { return constant(random_floats(dims)); }
  OneFusedNode& missing() {
    node_.inputs.emplace_back();
    return *this;
  }
  OneFusedNode& input(Tensor tensor) {
    const ValueId id = value(tensor);
    graph_.add_input(id);
    inputs.push_back(std::move(tensor));
    node_.inputs.push_back(id);
    return *this;
  }
  OneFusedNode& constant(Tensor tensor) {
    const ValueId id = value(tensor);
    graph_.add_initializer(id, std::move(tensor));
    node_.inputs.push_back(id);
    return *this;
  }
  template <typename T>
  OneFusedNode& bytes(DataType type, const Dims& dims, bool is_constant, int low, int high) {
    std::uniform_int_distribution<int> pick(low, high);
    std::vector<T> numbers(count_of(dims));
    for (T& number : numbers) number = static_cast<T>(pick(random_));
    Tensor tensor = Tensor::of<T>(type, dims, numbers);
    return is_constant ? constant(std::move(tensor)) : input(std::move(tensor));
  }

  Graph graph(std::size_t outputs = 1) {
    Graph result = graph_;
    Node node = node_;
    for (std::size_t i = 0; i < outputs; ++i) {
      const ValueId id = result.add_value("y" + std::to_string(i));
      node.outputs.push_back(id);
      result.add_output(id);
    }
    result.add_node(std::move(node));
    return result;
  }

  std::vector<Tensor> inputs;

 private:
  static std::size_t count_of(const Dims& dims) {
    std::size_t count = 1;
    for (const std::int64_t size : dims) count *= static_cast<std::size_t>(size);
    return count;
  }
  Tensor random_floats(const Dims& dims) {
    std::normal_distribution<float> pick(0, 0.5f);
    std::vector<float> numbers(count_of(dims));
    for (float& number : numbers) number = pick(random_);
    return Tensor::of<float>(DataType::Float32, dims, numbers);
  }
  ValueId value(const Tensor& tensor) {
    return graph_.add_value("v" + std::to_string(graph_.value_count()),
                            tensor_type(tensor.type(), Shape(tensor.dims())));
  }

  std::mt19937_64 random_;
  Graph graph_;
  Node node_;
};

}  // namespace assay
