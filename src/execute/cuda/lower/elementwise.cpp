// Element-wise ops, as many as can be computed together, in one kernel.
#include "execute/cuda/chain.h"
#include "execute/cuda/expressions.h"
#include "execute/cuda/library_convolution.h"

namespace assay::cuda {

namespace {

// The result lies like the largest operand, so that neither jumps about in memory.
Placement result_placement(const Lowering& lowering, const ChainText& text, ValueId result) {
  const Dims dims = lowering.dims(result);
  const Placement* largest = nullptr;
  for (const Placement& operand : text.operands) {
    const bool is_whole = broadcast(operand, dims).strides == operand.strides;
    std::int64_t repeated = 0;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (operand.strides[i] == 0 && dims[i] != 1) ++repeated;
    if (is_whole && repeated == 0 && largest == nullptr) largest = &operand;
  }
  return largest == nullptr ? row_major_placement(lowering.type(result), dims)
                            : placement_like(*largest, lowering.type(result));
}

}  // namespace

bool lower_elementwise(Lowering& lowering, NodeId id) {
  if (!is_elementwise(lowering, lowering.node(id))) return false;
  const Chain chain = chain_from(lowering, id);
  const ChainText text = text_of(lowering, chain);
  Placement result = result_placement(lowering, text, chain.result);
  const auto channels = wanted_channels(lowering, chain.result);
  const bool is_by_pixels = channels && !result.is_channels_last();
  if (is_by_pixels) result = padded_placement(result.type, result.dims, *channels);
  result = lowering.in_new_buffer(result);
  lowering.set_placement(chain.result, result);
  for (const NodeId node : chain.nodes) lowering.cover(node);
  if (result.elements() == 0) return true;
  const KernelText kernel =
      is_by_pixels ? pixel_kernel(text, result) : elementwise_kernel(text, result);
  lowering.add_kernel_step({.nodes = chain.nodes,
                            .algorithm = "element-wise",
                            .executed_flops = text.flops,
                            .reads = text.operands,
                            .writes = {result}},
                           lowering.kernels().add(kernel.text), kernel.shape);
  return true;
}

void add_elementwise_lowering(LowerTable& table) {
  for (const std::string& op : ops_with_expressions()) table[op] = lower_elementwise;
  for (const char* op : {"DequantizeLinear", "QuantizeLinear"}) table[op] = lower_elementwise;
}

}  // namespace assay::cuda
