#include "graph/constant_node.h"

#include "base/fail.h"

namespace assay::graph {

namespace {

std::int64_t length(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

}  // namespace

Tensor constant_tensor(const Node& node) {
  if (node.attributes.size() != 1) {
    fail_bad_input("Constant '{}' has {} attributes, expected one", node.name,
                   node.attributes.size());
  }
  if (const auto* tensor = node.get<Tensor>("value")) return *tensor;
  if (const auto* integer = node.get<std::int64_t>("value_int")) {
    return Tensor::of_int64({}, {*integer});
  }
  if (const auto* integers = node.get<std::vector<std::int64_t>>("value_ints")) {
    return Tensor::of_int64({length(integers->size())}, *integers);
  }
  if (const auto* real = node.get<float>("value_float")) return Tensor::of_float({}, {*real});
  if (const auto* reals = node.get<std::vector<float>>("value_floats")) {
    return Tensor::of_float({length(reals->size())}, *reals);
  }
  if (const auto* text = node.get<std::string>("value_string")) {
    return Tensor({}, std::vector<std::string>{*text});
  }
  if (const auto* texts = node.get<std::vector<std::string>>("value_strings")) {
    return Tensor({length(texts->size())}, *texts);
  }
  fail_bad_input("Constant '{}' has an unknown attribute '{}'", node.name,
                 node.attributes.front().name);
}

}  // namespace assay::graph
