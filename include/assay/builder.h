// Writes graphs by hand: inputs, seeded weights, nodes. Names are made unique, weights are
// generated only when they are read, and `finish` verifies the result.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assay/graph.h"

namespace assay {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::uint64_t seed = 0, std::int64_t opset = 17);

  ValueId input(const std::string& name, DataType type, std::optional<Shape> shape);
  void output(ValueId value, const std::string& name);  // renames the value

  // A float32 tensor drawn uniformly from [-bound, bound], the same for the same seed and name.
  ValueId weight(const std::string& name, std::vector<std::int64_t> dims, double bound);
  // A float32 tensor of one repeated number.
  ValueId filled(const std::string& name, std::vector<std::int64_t> dims, float number);
  ValueId constant(const std::string& name, Tensor tensor);
  ValueId ints(const std::string& name, const std::vector<std::int64_t>& numbers);  // 1-D int64
  ValueId scalar(const std::string& name, float number);

  // A node with one output, which gets the node's name.
  ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes = {});
  std::vector<ValueId> node_with_outputs(const std::string& op, const std::string& name,
                                         std::vector<ValueId> inputs, std::size_t outputs,
                                         std::vector<Attribute> attributes = {});

  // What is known of a value's rank while building; layers choose by it and pass it on.
  std::optional<std::size_t> rank(ValueId value) const;
  void set_rank(ValueId value, std::size_t rank);

  std::string unique_name(const std::string& wanted);
  Graph finish();

 private:
  Graph graph_;
  std::uint64_t seed_ = 0;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> last_suffix_;  // by wanted name
};

}  // namespace assay
