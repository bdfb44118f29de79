// Convolutions of floating numbers, by kernels of our own.
#include <fmt/core.h>

#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"

namespace assay::cuda {

namespace {

bool lower_convolution(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_floating(lowering.type(node.inputs[0]))) return false;
  const auto view = convolution_view_of(lowering, node, 0, 1);
  if (!view) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, channels_last_placement);
  Operands operands(lowering);
  const auto read = [&](const Placement& placement) -> TextAt {
    return [&](const std::vector<std::string>& at) { return operands.element(placement, at); };
  };
  const std::optional<Placement> bias =
      node.has_input(2)
          ? std::optional(along_axis(lowering.native(node.inputs[2]), view->result, 1))
          : std::nullopt;
  operands.pointer(view->image);
  operands.pointer(view->weight);
  if (bias) operands.pointer(*bias);
  const ConvolutionTexts texts{.parameters = operands.parameters() + epilogue.parameters(),
                               .sum_type = computed_type(view->image.type),
                               .image = read(view->image),
                               .weight = read(view->weight),
                               .store = [&](const std::vector<std::string>& at) {
                                 return epilogue.statements(
                                     bias ? "sum + " + operands.element(*bias, at) : "sum", at);
                               }};
  const ConvolutionKernel kernel = convolution_kernel(*view, texts);
  add_convolution_step(lowering, draft_with(epilogue, id, operands.reads(), view->flops()), kernel);
  return true;
}

}  // namespace

void add_convolution_lowering(LowerTable& table) {
  table["Conv"] = lower_convolution;
  table["ConvTranspose"] = lower_convolution;
}

}  // namespace assay::cuda
