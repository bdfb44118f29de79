// A convolution over images one pixel wide: the same numbers in the same order are an image one
// pixel high, along whose rows kernels go much faster.
#include <algorithm>

#include "transform/expansion.h"

namespace assay::transform {

namespace {

constexpr std::int64_t kFewPixels = 16;  // not worth a change

bool pads_rows_only(const Node& node) {
  const Dims pads = node.ints_or("pads", {0, 0, 0, 0});
  return node.string_or("auto_pad", "NOTSET") == "NOTSET" && pads.size() == 4 && pads[1] == 0 &&
         pads[3] == 0;
}

Dims swapped(const Dims& dims) {
  return {dims[0], dims[1], dims[3], dims[2]};
}

// One number for each of two axes, or for the begin and then the end of each.
void swap_axes(Attribute& attribute) {
  auto* numbers = std::get_if<Dims>(&attribute.value);
  if (numbers == nullptr) return;
  for (std::size_t i = 0; i + 1 < numbers->size(); i += 2)
    std::swap((*numbers)[i], (*numbers)[i + 1]);
}

}  // namespace

bool expand_column_convolution(Expansion& to) {
  const Node& node = to.node();
  const Dims image = to.dims(node.inputs[0]);
  const Dims weight = to.dims(node.inputs[1]);
  const Dims result = to.dims(node.outputs[0]);
  if (image.size() != 4 || weight.size() != 4 || result.size() != 4) return false;
  const bool is_column = image[3] == 1 && weight[3] == 1 && result[3] == 1 && weight[2] > 1;
  if (!is_column || result[2] < kFewPixels || !pads_rows_only(node)) return false;
  if (to.constant(node.inputs[1]) == nullptr) return false;
  Piece piece{node.op, node.inputs, node.attributes};
  for (Attribute& attribute : piece.attributes) swap_axes(attribute);
  piece.inputs[0] = to.reshaped(node.inputs[0], swapped(image));
  piece.inputs[1] = to.reshaped(node.inputs[1], swapped(weight));
  const ValueId row = to.add(std::move(piece), swapped(result), to.element(node.outputs[0]));
  to.add_as({"Reshape", {row, to.integers(result)}}, {node.outputs[0]});
  return true;
}

}  // namespace assay::transform
