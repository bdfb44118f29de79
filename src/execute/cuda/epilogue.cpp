#include "execute/cuda/epilogue.h"

#include <fmt/core.h>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

std::vector<NodeId> Epilogue::nodes(NodeId main) const {
  std::vector<NodeId> all = {main};
  all.insert(all.end(), chain.nodes.begin(), chain.nodes.end());
  return all;
}

std::string Epilogue::parameters() const {
  std::string list;
  for (std::size_t i = 0; i < text.operands.size(); ++i)
    list += fmt::format("const {}* __restrict__ e{}, ", stored_type(text.operands[i].type), i);
  list += stored_type(result.type) + "* __restrict__ out";
  for (std::size_t i = 0; i < more.size(); ++i)
    list += fmt::format(", {}* __restrict__ more{}", stored_type(more[i].type), i);
  return list;
}

std::string Epilogue::statements(const std::string& sum,
                                 std::span<const std::string> coordinates) const {
  return computing(sum, coordinates) +
         fmt::format("  out[{}] = {};\n", offset_text(result, coordinates), stored_result());
}

std::string Epilogue::stored_result() const {
  return stored(result.type, text.result);
}

std::string Epilogue::computing(const std::string& sum,
                                std::span<const std::string> coordinates) const {
  std::string body = fmt::format("  const auto x = {};\n", sum);
  for (std::size_t i = 0; i < text.operands.size(); ++i) {
    const Placement& operand = text.operands[i];
    body += fmt::format(
        "  const {} a{} = {};\n", computed_type(operand.type), i,
        loaded(operand.type, fmt::format("e{}[{}]", i, offset_text(operand, coordinates))));
  }
  return body + text.statements;
}

std::string Epilogue::add_more(Lowering& lowering, ValueId value) {
  more.push_back(lowering.new_row_major(value));
  lowering.set_placement(value, more.back());
  return fmt::format("more{}", more.size() - 1);
}

Epilogue epilogue_of(Lowering& lowering, NodeId main, Placement (*placed)(DataType, Dims)) {
  Epilogue epilogue;
  epilogue.chain = chain_after(lowering, lowering.node(main).outputs[0]);
  epilogue.text = text_of(lowering, epilogue.chain);
  const ValueId result = epilogue.chain.result;
  epilogue.result = lowering.in_new_buffer(placed(lowering.type(result), lowering.dims(result)));
  lowering.set_placement(result, epilogue.result);
  for (const NodeId node : epilogue.chain.nodes) lowering.cover(node);
  return epilogue;
}

StepDraft draft_with(const Epilogue& epilogue, NodeId main, std::vector<Placement> reads,
                     std::int64_t flops) {
  StepDraft draft{.nodes = epilogue.nodes(main),
                  .executed_flops = flops + epilogue.text.flops,
                  .reads = std::move(reads),
                  .writes = {epilogue.result}};
  draft.reads.insert(draft.reads.end(), epilogue.text.operands.begin(),
                     epilogue.text.operands.end());
  draft.writes.insert(draft.writes.end(), epilogue.more.begin(), epilogue.more.end());
  return draft;
}

Placement (*layout_of(const Placement& operand))(DataType, Dims) {
  return operand.is_channels_last() && !operand.is_row_major() ? channels_last_placement
                                                               : row_major_placement;
}

}  // namespace assay::cuda
