// Attention written as products and a softmax, in one step: MatMul, element-wise nodes (a scale, a
// mask), Softmax, MatMul.
#include "execute/cuda/lower/attention.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "execute/cuda/attention_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/product_view.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

namespace {

// Fewer rows are better computed by products of their own: a block takes 16 at least.
constexpr std::int64_t kFewestRows = 8;
// Above, products in float32 by cuBLASLt take less time than those of the fused kernel.
constexpr std::int64_t kMostKeysPlainly = 1024;

// Blocks take their rows through all keys alone, which takes long where there are few blocks.
constexpr std::int64_t kManyKeys = 2048;
constexpr std::int64_t kRowsOfABlock = 32;

struct AttentionNodes {
  NodeId scores;
  Chain changes;  // of the scores
  NodeId softmax;
  std::optional<NodeId> cast;  // of the shares
  NodeId result;
};

bool is_product(const Node& node) {
  return node.is("MatMul") || (node.op == "FusedMatMul" && node.domain == "com.microsoft");
}

bool is_over_last_axis(const Lowering& lowering, const Node& softmax) {
  constexpr std::int64_t kFirstOpset = 13;
  const std::size_t rank = lowering.dims(softmax.inputs[0]).size();
  const std::int64_t usual = lowering.graph().opset() < kFirstOpset ? 1 : -1;
  return kernels::normalized_axis(softmax.int_or("axis", usual), rank) == rank - 1;
}

// The only node that reads the value, if it is yet to be lowered.
std::optional<NodeId> next_after(const Lowering& lowering, ValueId value) {
  const NodeId reader = lowering.only_reader(value);
  if (!reader.is_valid() || lowering.is_covered(reader)) return {};
  return reader;
}

bool has_bodies(const Node& node) {
  bool has_any = false;
  for_each_subgraph(node, [&](const Graph&) { has_any = true; });
  return has_any;
}

// Whether the nodes that are still to be lowered make this value without `start`, and without
// others that they read from within bodies.
bool is_free_of(const Lowering& lowering, ValueId value, NodeId start) {
  if (!value.is_valid() || lowering.is_available(value)) return true;
  const NodeId producer = lowering.graph().producer(value);
  if (!producer.is_valid() || producer == start || has_bodies(lowering.node(producer)))
    return false;
  return std::ranges::all_of(lowering.node(producer).inputs,
                             [&](ValueId input) { return is_free_of(lowering, input, start); });
}

// What the nodes behind the scores read beside them, a mask and the values, may be computed by
// nodes that come later.
void compute_operands_first(Lowering& lowering, NodeId id) {
  std::vector<ValueId> operands;
  bool has_softmax = false;
  bool is_attention = false;
  ValueId value = lowering.node(id).outputs[0];
  for (auto next = next_after(lowering, value); next; next = next_after(lowering, value)) {
    const Node& node = lowering.node(*next);
    const bool is_last = has_softmax && is_product(node);
    const bool is_softmax = node.is("Softmax");
    if (!is_last && !is_softmax && !is_elementwise(lowering, node)) return;
    for (const ValueId input : node.inputs)
      if (input != value) operands.push_back(input);
    has_softmax = has_softmax || is_softmax;
    value = node.outputs[0];
    is_attention = is_last;
    if (is_last) break;
  }
  const bool are_free = std::ranges::all_of(
      operands, [&](ValueId operand) { return is_free_of(lowering, operand, id); });
  if (!is_attention || !are_free) return;
  for (const ValueId operand : operands) lowering.compute_first(operand);
}

std::optional<AttentionNodes> attention_from(Lowering& lowering, NodeId id) {
  AttentionNodes found{.scores = id, .changes = {}, .softmax = {}, .cast = {}, .result = {}};
  compute_operands_first(lowering, id);
  found.changes = chain_after(lowering, lowering.node(id).outputs[0]);
  const auto softmax = next_after(lowering, found.changes.result);
  if (!softmax || !lowering.node(*softmax).is("Softmax")) return {};
  if (!is_over_last_axis(lowering, lowering.node(*softmax))) return {};
  found.softmax = *softmax;
  ValueId shares = lowering.node(*softmax).outputs[0];
  auto next = next_after(lowering, shares);
  if (next && lowering.node(*next).is("Cast")) {
    found.cast = next;
    shares = lowering.node(*next).outputs[0];
    next = next_after(lowering, shares);
  }
  if (!next || !is_product(lowering.node(*next))) return {};
  const Node& last = lowering.node(*next);
  if (last.inputs[0] != shares || !lowering.is_available(last.inputs[1])) return {};
  found.result = *next;
  return found;
}

// Of one type and 32 bits or less, in matrices of one batch.
bool are_alike(const Lowering& lowering, const AttentionNodes& nodes) {
  const Node& first = lowering.node(nodes.scores);
  const Node& last = lowering.node(nodes.result);
  const DataType type = lowering.type(first.inputs[0]);
  for (const ValueId id : {first.inputs[1], last.inputs[0], last.inputs[1], last.outputs[0]})
    if (lowering.type(id) != type || !lowering.is_on_device(id)) return false;
  if (!is_floating(lowering.type(nodes.changes.result)) ||
      computed_type(lowering.type(nodes.changes.result)) != "float")
    return false;
  for (const char* flag : {"transBatchA", "transBatchB"})
    if (first.int_or(flag, 0) != 0 || last.int_or(flag, 0) != 0) return false;
  Dims scores = lowering.dims(first.outputs[0]);
  Dims result = lowering.dims(last.outputs[0]);
  if (scores.size() < 2 || scores.size() != result.size() || last.int_or("transA", 0) != 0)
    return false;
  if (lowering.dims(first.inputs[0]).size() < 2 || lowering.dims(first.inputs[1]).size() < 2)
    return false;
  scores.pop_back();
  result.pop_back();
  return scores == result;
}

bool is_worth_it(Lowering& lowering, const AttentionShape& shape) {
  const std::int64_t blocks = (shape.rows + kRowsOfABlock - 1) / kRowsOfABlock * shape.batches;
  const bool is_idle = 2 * blocks < lowering.device().facts().multiprocessors;
  if (shape.rows < kFewestRows || (is_idle && shape.keys > kManyKeys)) return false;
  if (shape.type != DataType::Float32) return true;
  if (lowering.options().cuda.tf32) return false;
  return shape.keys <= kMostKeysPlainly || lowering.libraries().cublaslt() == nullptr;
}

// Lines along axis `line` of a placement whose other one of the last two axes is that of elements.
AttentionLines lines_of(const Placement& matrix, std::size_t line, std::size_t element,
                        const Dims& batch) {
  const std::vector<std::string> at = batch_coordinates(batch, {"0", "0"});
  AttentionLines lines{.start = offset_text(matrix, at),
                       .line_stride = matrix.strides[line],
                       .stride = matrix.strides[element]};
  const std::int64_t group = 128 / bits(matrix.type);
  lines.in_groups = lines.stride == 1 && matrix.offset % group == 0;
  for (std::size_t axis = 0; axis < matrix.dims.size(); ++axis) {
    const bool steps = axis != element && matrix.dims[axis] > 1;
    if (steps && matrix.strides[axis] % group != 0) lines.in_groups = false;
  }
  return lines;
}

// What a Transpose that alone reads the result makes row-major, so that merged heads are a view.
Placement result_placement(Lowering& lowering, ValueId value) {
  const Placement plain = row_major_placement(lowering.type(value), lowering.dims(value));
  const auto reader = next_after(lowering, value);
  if (!reader || !lowering.node(*reader).is("Transpose")) return plain;
  const std::size_t rank = plain.dims.size();
  const Dims order = lowering.node(*reader).ints_or("perm", {});
  if (order.size() != rank || order.back() != static_cast<std::int64_t>(rank) - 1) return plain;
  const Placement turned =
      row_major_placement(plain.type, lowering.dims(lowering.node(*reader).outputs[0]));
  Placement seen = plain;
  for (std::size_t i = 0; i < rank; ++i)
    seen.strides[kernels::normalized_axis(order[i], rank).value_or(0)] = turned.strides[i];
  return seen;
}

// Statements that return the score, and the parameters they read.
void write_scores(Attention& attention, const ChainText& changes, float scale,
                  std::span<const std::string> at) {
  attention.score = fmt::format("    const float x = sum{};\n",
                                scale == 1 ? "" : " * " + number_text(scale, "float"));
  for (std::size_t i = 0; i < changes.operands.size(); ++i) {
    const Placement& operand = changes.operands[i];
    attention.more_parameters +=
        fmt::format("const {}* __restrict__ e{}, ", stored_type(operand.type), i);
    attention.score +=
        fmt::format("    const {} a{} = {};\n", computed_type(operand.type), i,
                    loaded(operand.type, fmt::format("e{}[{}]", i, offset_text(operand, at))));
  }
  attention.score += changes.statements + fmt::format("    return {};\n", changes.result);
}

std::vector<NodeId> all_of(const AttentionNodes& nodes) {
  std::vector<NodeId> all = {nodes.scores};
  all.insert(all.end(), nodes.changes.nodes.begin(), nodes.changes.nodes.end());
  all.push_back(nodes.softmax);
  if (nodes.cast) all.push_back(*nodes.cast);
  all.push_back(nodes.result);
  return all;
}

std::int64_t flops_of(const AttentionShape& shape, const ChainText& changes) {
  constexpr std::int64_t kOfSoftmax = 5;
  const std::int64_t scores = shape.batches * shape.rows * shape.keys;
  return scores * (2 * shape.depth + 2 * shape.width + kOfSoftmax) + changes.flops;
}

}  // namespace

bool lower_attention(Lowering& lowering, NodeId id) {
  const auto nodes = attention_from(lowering, id);
  if (!nodes || !are_alike(lowering, *nodes)) return false;
  const Node& first = lowering.node(nodes->scores);
  const Node& last = lowering.node(nodes->result);
  const ProductView scores = product_view_of(lowering, first, 0, 1);
  const Placement shares = row_major_placement(scores.a.type, lowering.dims(first.outputs[0]));
  const ProductView results = product_view_of(shares, lowering.native(last.inputs[1]), last,
                                              lowering.dims(last.outputs[0]));
  Attention attention{.shape = {.type = scores.a.type,
                                .batches = scores.batches(),
                                .rows = scores.rows,
                                .keys = scores.columns,
                                .depth = scores.depth,
                                .width = results.columns},
                      .query = {},
                      .keys = {},
                      .values = {},
                      .score = {},
                      .factor = number_text(last.float_or("alpha", 1), "float"),
                      .result_at = {}};
  const gpu::DeviceFacts& device = lowering.device().facts();
  if (!scores.fits_a_grid() || !results.has_columns || results.columns == 0) return false;
  if (!has_attention_kernel(attention.shape, device)) return false;
  if (!is_worth_it(lowering, attention.shape)) return false;
  const ChainText changes = text_of(lowering, nodes->changes);
  const Placement result = lowering.in_new_buffer(result_placement(lowering, last.outputs[0]));
  const std::size_t rank = scores.a.dims.size();
  attention.query = lines_of(scores.a, rank - 2, rank - 1, scores.batch);
  attention.keys = lines_of(scores.b, rank - 1, rank - 2, scores.batch);
  attention.values = lines_of(results.b, rank - 2, rank - 1, scores.batch);
  const auto at = batch_coordinates(scores.batch, {"row", "column"});
  write_scores(attention, changes, first.float_or("alpha", 1), at);
  attention.result_at = offset_text(result, at);
  const KernelText kernel = attention_kernel(attention, device);
  StepDraft draft{.nodes = all_of(*nodes),
                  .algorithm = "fused attention",
                  .executed_flops = flops_of(attention.shape, changes),
                  .reads = {scores.a, scores.b, results.b},
                  .writes = {result}};
  draft.reads.insert(draft.reads.end(), changes.operands.begin(), changes.operands.end());
  for (const NodeId node : draft.nodes) lowering.cover(node);
  lowering.set_placement(last.outputs[0], result);
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text, true), kernel.shape);
  return true;
}

}  // namespace assay::cuda
