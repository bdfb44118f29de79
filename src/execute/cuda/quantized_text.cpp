#include "execute/cuda/quantized_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

std::string zero_point_text(Operands& operands, const Node& node, const ScaleInputs& inputs) {
  return node.has_input(inputs.zero_point) ? operands.real(node.inputs[inputs.zero_point]) : "0.0";
}

}  // namespace

std::string saturated_text(DataType type, const std::string& number) {
  return fmt::format("whole<{}>({})", stored_type(type), number);
}

std::string dequantized_text(Operands& operands, const Node& node, const ScaleInputs& inputs,
                             const std::string& number) {
  return fmt::format("(((double){} - {}) * {})", number, zero_point_text(operands, node, inputs),
                     operands.real(node.inputs[inputs.scale]));
}

// The quotient is rounded to float, so that halves are halves.
std::string quantized_text(Operands& operands, const Node& node, const ScaleInputs& inputs,
                           DataType type, const std::string& real) {
  return saturated_text(type, fmt::format("rint((double)(float)(({}) / {})) + {}", real,
                                          operands.real(node.inputs[inputs.scale]),
                                          zero_point_text(operands, node, inputs)));
}

bool is_one_number(const Lowering& lowering, const Node& node, const ScaleInputs& inputs) {
  const auto fits = [&](std::size_t input) {
    if (!node.has_input(input)) return true;
    return checked_product(lowering.dims(node.inputs[input])) == 1;
  };
  return fits(inputs.scale) && fits(inputs.zero_point);
}

}  // namespace assay::cuda
