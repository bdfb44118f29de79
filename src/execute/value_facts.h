// What is known of the values of a graph before it is lowered: constants, shapes, who reads them.
#pragma once

#include <optional>
#include <vector>

#include "assay/infer.h"

namespace assay::execute {

class ValueFacts {
 public:
  explicit ValueFacts(const Inferred& model);  // which must outlive this

  const Tensor* constant(ValueId id) const;        // null: it is computed
  std::optional<double> number(ValueId id) const;  // a constant of one element
  bool is_float(ValueId id) const;                 // a float32 tensor of known shape
  bool is_real(ValueId id) const;                  // float32, bfloat16 or float16 of known shape
  DataType type(ValueId id) const;                 // of the elements
  bool is_dynamic(ValueId id) const;               // its shape is known only at run time
  std::vector<std::int64_t> dims(ValueId id) const;

  // Carried from run to run: laid out as its first reader wants it.
  bool is_state(ValueId id) const { return id.is_valid() && is_state_[id.number]; }
  // Read by callers or by bodies of nodes.
  bool is_visible(ValueId id) const { return is_visible_[id.number]; }
  const std::vector<NodeId>& readers(ValueId id) const { return readers_[id.number]; }
  NodeId only_reader(ValueId id) const;  // invalid where there are others, or it is visible
  bool is_read(ValueId id) const { return is_visible(id) || !readers(id).empty(); }

 private:
  const Graph& graph() const { return model_.graph; }

  const Inferred& model_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_visible_;
  std::vector<bool> is_state_;
};

}  // namespace assay::execute
