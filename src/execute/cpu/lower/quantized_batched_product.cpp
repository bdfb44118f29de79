// QLinearMatMul of two activations, as in attention: batches of matrix products by tile
// instructions or by oneDNN, whose second operand has to be signed.
#include <array>

#include "base/checked.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/lower/tile_batch_step.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/simd/byte_table.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// a[batch, m, k] · b[batch, k, n]
struct BatchedSizes8 {
  std::int64_t batch = 1, m = 0, k = 0, n = 0;

  Dims a() const { return {batch, m, k}; }
  Dims b() const { return {batch, k, n}; }
  Dims result() const { return {batch, m, n}; }
  std::int64_t flops() const {
    return saturating_multiply(2 * batch, saturating_multiply(m, saturating_multiply(k, n)));
  }
};

// Nothing where an operand is repeated along a batch axis.
std::optional<BatchedSizes8> batched_sizes(const Dims& a, const Dims& b) {
  if (a.size() != b.size() || a.size() < 2) return {};
  BatchedSizes8 sizes;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) {
    if (a[i] != b[i]) return {};
    sizes.batch = saturating_multiply(sizes.batch, a[i]);
  }
  sizes.m = a[a.size() - 2];
  sizes.k = a.back();
  sizes.n = b.back();
  const bool is_empty = sizes.batch * sizes.m == 0 || sizes.k * sizes.n == 0;
  return is_empty ? std::nullopt : std::optional(sizes);
}

std::array<std::uint8_t, 256> without_sign() {
  std::array<std::uint8_t, 256> table;
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i ^ 0x80);
  return table;
}

// The second operand as signed numbers, 128 less than the unsigned ones.
struct SignedOperand {
  Placement stored;
  Placement placed;  // where the product reads it
};

SignedOperand signed_operand(Lowering& lowering, ValueId id) {
  SignedOperand operand{.stored = lowering.row_major(id), .placed = {}};
  operand.placed = operand.stored;
  if (operand.stored.type == DataType::Int8) return operand;
  operand.placed = row_major_placement({}, DataType::Int8, operand.stored.dims);
  operand.placed.buffer = lowering.new_buffer(operand.placed.bytes());
  return operand;
}

Binder with_sign_removed(const SignedOperand& operand, const Binder& product, int threads) {
  if (operand.stored.type == DataType::Int8) return product;
  return [=](const Addresses& at) -> Runner {
    const auto* from = reinterpret_cast<const std::uint8_t*>(at.bytes(operand.stored));
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(operand.placed));
    const std::int64_t count = operand.stored.elements();
    return [=, multiply = product(at)] {
      static const auto table = without_sign();
      execute::in_parallel(threads, count, [&](std::int64_t first, std::int64_t last) {
        look_up(table.data(), from + first, to + first, static_cast<std::size_t>(last - first));
      });
      multiply();
    };
  };
}

struct Scales8 {
  Scale8 a, b, to;
};

std::optional<Scales8> scales_of(const Lowering& lowering, const Node& node) {
  const auto scale = [&](std::size_t input, ValueId value) {
    return scale8_of(lowering, node.inputs[input], node.inputs[input + 1],
                     type_of(lowering, value));
  };
  const auto a = scale(1, node.inputs[0]);
  const auto b = scale(4, node.inputs[3]);
  const auto to = scale(6, node.outputs[0]);
  if (!a || !b || !to) return {};
  return Scales8{*a, *b, *to};
}

Product described(const BatchedSizes8& sizes, const Scales8& scales, DataType result,
                  const std::optional<Clipped8>& clip) {
  Product what;
  what.source = plain_desc(sizes.a(), scales.a.is_signed ? DataType::Int8 : DataType::UInt8);
  what.weights = plain_desc(sizes.b(), DataType::Int8);
  what.result = plain_desc(sizes.result(), result);
  what.requantization =
      Requantization{.scales = {scales.a.scale * scales.b.scale / scales.to.scale},
                     .source_zero_point = scales.a.zero_point,
                     .weights_zero_point = scales.b.zero_point - (scales.b.is_signed ? 0 : 128)};
  what.post_ops = ops_before_storing(scales.to, clip);
  return what;
}

TileBatchLayer tile_layer(const BatchedSizes8& sizes, const Scales8& scales, DataType result,
                          const std::optional<Clipped8>& clip) {
  return {.type = scales.a.is_signed ? TileType::S8 : TileType::U8,
          .m = sizes.m,
          .k = sizes.k,
          .n = sizes.n,
          .right_is_unsigned = !scales.b.is_signed,
          .left_zero_point = scales.a.zero_point,
          .right_zero_point = scales.b.zero_point,
          .scale = scales.a.scale * scales.b.scale / scales.to.scale,
          .epilogue = tile_epilogue(ops_before_storing(scales.to, clip), result, 0)};
}

// The step of one product, with the Clip that follows it.
struct BatchedStep {
  StepDraft draft;
  ValueId value;
};

BatchedStep begin_step(Lowering& lowering, NodeId id, const BatchedSizes8& sizes,
                       const std::optional<Clipped8>& clip) {
  BatchedStep step{.draft = {.nodes = {id},
                             .algorithm = "",
                             .precision = "int8",
                             .executed_flops = sizes.flops()},
                   .value = lowering.node(id).outputs[0]};
  if (clip) {
    lowering.cover(clip->node);
    step.draft.nodes.push_back(clip->node);
    step.value = lowering.node(clip->node).outputs[0];
  }
  return step;
}

// Both operands are read where they lie; false: not in this form.
bool lower_by_tiles(Lowering& lowering, NodeId id, const BatchedSizes8& sizes,
                    const TileBatchLayer& layer, const std::optional<Clipped8>& clip) {
  if (tiles() == nullptr || !TileBatch::fits(layer.type, layer.k)) return false;
  const Node& node = lowering.node(id);
  const Dims dims = lowering.dims(node.outputs[0]);
  const Dims batch(dims.begin(), dims.end() - 2);
  Placement left = lowering.strided_in_any_type(node.inputs[0]);
  if (left.strides.back() != 1 && left.dims.back() != 1) left = lowering.row_major(node.inputs[0]);
  const Placement right = lowering.strided_in_any_type(node.inputs[3]);
  BatchedStep step = begin_step(lowering, id, sizes, clip);
  const Placement result = lowering.new_row_major(step.value);
  step.draft.reads = {left, right};
  step.draft.writes = {result};
  add_tile_batch_step(lowering, step.draft, layer, batched_matrix(left, batch),
                      batched_matrix(right, batch), batched_matrix(result, batch));
  lowering.set_placement(step.value, result);
  return true;
}

bool lower_by_primitive(Lowering& lowering, NodeId id, const BatchedSizes8& sizes,
                        const Product& what, const std::optional<Clipped8>& clip) {
  const auto choices = matrix_products(what, 1);
  if (choices.empty() || !has_exact_8_bit_products(choices.front().implementation)) return false;
  const Choice& choice = choices.front();
  const Node& node = lowering.node(id);
  const Placement a = lowering.row_major(node.inputs[0]);
  const SignedOperand b = signed_operand(lowering, node.inputs[3]);
  auto [draft, value] = begin_step(lowering, id, sizes, clip);
  const Placement result = lowering.new_row_major(value);
  draft.algorithm = choice.implementation;
  draft.reads = {a, b.stored};
  draft.writes = {result};
  if (b.placed.buffer != b.stored.buffer) draft.workspace.push_back(b.placed.buffer);
  std::vector<Argument> arguments = {{argument::kSource, choice.source, a},
                                     {argument::kWeights, choice.weights, b.placed},
                                     {argument::kResult, choice.result, result}};
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  lowering.add_step(draft, with_sign_removed(b, primitive_binder(choice.primitive, arguments),
                                             lowering.threads()));
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

bool lower_product_of_activations(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.op != "QLinearMatMul" || !has_exact_8_bit_products()) return false;
  const ValueId value = node.outputs[0];
  for (const ValueId operand : {node.inputs[0], node.inputs[3], value}) {
    if (!is_8_bit(lowering, operand)) return false;
  }
  const auto sizes = batched_sizes(lowering.dims(node.inputs[0]), lowering.dims(node.inputs[3]));
  const auto scales = scales_of(lowering, node);
  if (!sizes || !scales) return false;
  const auto clip = clip_after(lowering, value);
  const DataType type = type_of(lowering, value);
  return lower_by_tiles(lowering, id, *sizes, tile_layer(*sizes, *scales, type, clip), clip) ||
         lower_by_primitive(lowering, id, *sizes, described(*sizes, *scales, type, clip), clip);
}

}  // namespace assay::cpu
