// LSTM, GRU and RNN whose batch comes first (`layout` 1): between Transposes, which engines have as
// views.
#include <algorithm>

#include "transform/expansion.h"

namespace assay::transform {

namespace {

using Order = std::vector<std::int64_t>;

// [batch, steps, features] and [batch, directions, hidden] with the batch second.
ValueId batch_second(Expansion& to, ValueId value) {
  const Dims dims = to.dims(value);
  return to.add({"Transpose", {value}, {{"perm", Order{1, 0, 2}}}}, {dims[1], dims[0], dims[2]},
                to.element(value));
}

// As the op gives it with the batch second: from [batch, steps, directions, hidden] to [steps,
// directions, batch, hidden], from [batch, directions, hidden] to [directions, batch, hidden].
Dims dims_before(const Dims& dims) {
  return dims.size() == 4 ? Dims{dims[1], dims[2], dims[0], dims[3]}
                          : Dims{dims[1], dims[0], dims[2]};
}

}  // namespace

bool expand_batch_first(Expansion& to) {
  const Node& node = to.node();
  if (node.int_or("layout", 0) == 0) return false;
  Piece piece{node.op, node.inputs, node.attributes};
  std::erase_if(piece.attributes, [](const Attribute& one) { return one.name == "layout"; });
  for (const std::size_t i : {0u, 5u, 6u}) {
    if (!node.has_input(i)) continue;
    if (to.dims(node.inputs[i]).size() != 3) return false;
  }
  for (const std::size_t i : {0u, 5u, 6u}) {
    if (node.has_input(i)) piece.inputs[i] = batch_second(to, node.inputs[i]);
  }
  std::vector<Dims> dims;
  std::vector<DataType> elements;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId like = node.has_output(i) ? node.outputs[i] : ValueId{};
    dims.push_back(like.is_valid() ? dims_before(to.dims(like)) : Dims{});
    elements.push_back(like.is_valid() ? to.element(like) : DataType::Float32);
  }
  const auto results = to.add_many(std::move(piece), dims, elements);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    const Order order = i == 0 ? Order{2, 0, 1, 3} : Order{1, 0, 2};
    to.add_as({"Transpose", {results[i]}, {{"perm", order}}}, {node.outputs[i]});
  }
  return true;
}

}  // namespace assay::transform
