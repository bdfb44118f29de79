// Numbers of 8 and 16 bits, their scales and zero points, in the texts of kernels. What the plain
// kernels compute in double is computed in double here, so that results are the same.
#pragma once

#include <string>

#include "execute/cuda/operands.h"

namespace assay::cuda {

// A whole number of type double as one of `type`, limited to its range.
std::string saturated_text(DataType type, const std::string& number);

// Where a scale and a zero point of one element each stand among the inputs of a node.
struct ScaleInputs {
  std::size_t scale = 0;
  std::size_t zero_point = 0;
};

// (number - zero point) · scale, as double.
std::string dequantized_text(Operands& operands, const Node& node, const ScaleInputs& inputs,
                             const std::string& number);
// A real number of type double, in `type`.
std::string quantized_text(Operands& operands, const Node& node, const ScaleInputs& inputs,
                           DataType type, const std::string& real);

// Whether these inputs have one element each, where there are any.
bool is_one_number(const Lowering& lowering, const Node& node, const ScaleInputs& inputs);

}  // namespace assay::cuda
