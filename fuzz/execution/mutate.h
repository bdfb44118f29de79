// Changes a model at random, always the same for the same numbers: attributes, dimensions, element
// types, operands, stored tensors, opset, and which node follows which.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/random_numbers.h"
#include "execution/parts.h"
#include "execution/seeds.h"

namespace assay::fuzz {

// What mutants borrow from other models.
class Donors {
 public:
  explicit Donors(std::span<const Seed> seeds);

  const Node& node(RandomNumbers& random) const;
  // An attribute that a node of this op has somewhere; null where none has any.
  const Attribute* attribute(const std::string& op, RandomNumbers& random) const;

 private:
  std::vector<Node> nodes_;
  std::map<std::string, std::vector<Attribute>> attributes_;
};

Graph mutated(const Graph& graph, const Donors& donors, RandomNumbers& random);

// A tensor of small numbers, some of them extreme where that is asked for.
Tensor drawn_tensor(DataType type, const std::vector<std::int64_t>& dims, RandomNumbers& random,
                    bool may_be_extreme = true);

}  // namespace assay::fuzz
