// QLinearAdd and QLinearMul: sums and products of two 8-bit values, element by element.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/byte_table.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Stretches of elements in which the second operand is whole or one number.
struct Stretch8 {
  std::int64_t a = 0, b = 0;  // first elements
};
struct CombinationPlan {
  Combination8 how;
  std::vector<Stretch8> stretches;
  std::int64_t width = 0;
};

// In the order in which the elements lie.
Dims memory_order(const Dims& dims, bool channels_last) {
  if (!channels_last) return dims;
  Dims moved = dims;
  std::rotate(moved.begin() + 1, moved.begin() + 2, moved.end());
  return moved;
}

Dims widened(const Dims& dims, std::size_t rank) {
  Dims wide(rank - dims.size(), 1);
  wide.insert(wide.end(), dims.begin(), dims.end());
  return wide;
}

// How far apart neighbours along each axis lie, 0 where the operand repeats itself.
Dims broadcast_strides(const Dims& operand) {
  Dims strides = row_major_strides_of(operand);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (operand[i] == 1) strides[i] = 0;
  }
  return strides;
}

std::size_t trailing_axes(const Dims& dims, auto predicate) {
  std::size_t count = 0;
  while (count < dims.size() && predicate(dims.size() - 1 - count)) ++count;
  return count;
}

// The first elements of both operands for every position along the axes `outer`.
std::vector<Stretch8> stretches_over(std::span<const std::int64_t> outer, std::int64_t count,
                                     const Dims& a, const Dims& b) {
  const Dims a_strides = broadcast_strides(a);
  const Dims b_strides = broadcast_strides(b);
  std::vector<Stretch8> stretches;
  Dims at(outer.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    Stretch8 stretch;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      stretch.a += at[axis] * a_strides[axis];
      stretch.b += at[axis] * b_strides[axis];
    }
    stretches.push_back(stretch);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < outer[axis]) break;
      at[axis] = 0;
    }
  }
  return stretches;
}

// Nothing if an operand is neither whole nor one number along the last axes.
std::optional<CombinationPlan> planned(Combination8 how, const Dims& a, const Dims& b,
                                       const Dims& whole) {
  constexpr std::int64_t kMostStretches = 1 << 20;
  const std::size_t rank = whole.size();
  const auto same_axes = [&](const Dims& operand) {
    return trailing_axes(operand, [&](std::size_t axis) { return operand[axis] == whole[axis]; });
  };
  const std::size_t a_axes = same_axes(a);
  const std::size_t b_single = trailing_axes(b, [&](std::size_t axis) { return b[axis] == 1; });
  std::size_t axes = std::min(a_axes, same_axes(b));
  if (const std::size_t alone = std::min(a_axes, b_single); alone > axes) {
    axes = alone;
    how.b_is_one_number = true;
  }
  if (axes == 0 && rank > 0 && whole[rank - 1] != 1) return {};
  const Rows rows = rows_from(whole, rank - axes);
  if (rows.count > kMostStretches) return {};
  const auto outer = std::span(whole).first(rank - axes);
  return CombinationPlan{
      .how = how, .stretches = stretches_over(outer, rows.count, a, b), .width = rows.width};
}

Binder combination_binder(const CombinationPlan& plan, const Placement& a, const Placement& b,
                          const Placement& result, int threads) {
  return [=](const Addresses& at) -> Runner {
    const std::byte* first_operand = at.bytes(a);
    const std::byte* second_operand = at.bytes(b);
    std::byte* to = at.bytes(result);
    const auto count = static_cast<std::int64_t>(plan.stretches.size()) * plan.width;
    return [=] {
      execute::in_parallel(threads, count, [&](std::int64_t first, std::int64_t last) {
        while (first < last) {
          const std::int64_t row = first / plan.width;
          const std::int64_t until = std::min(last, (row + 1) * plan.width);
          const Stretch8& stretch = plan.stretches[static_cast<std::size_t>(row)];
          const std::int64_t within = first - row * plan.width;
          const std::int64_t b_within = plan.how.b_is_one_number ? 0 : within;
          simd().combine(plan.how, first_operand + stretch.a + within,
                         second_operand + stretch.b + b_within, to + first,
                         static_cast<std::size_t>(until - first));
          first = until;
        }
      });
    };
  };
}

// The operands, the one of the result's dimensions first.
struct CombinationOperands {
  ValueId a, b;
  Combination8 how;
};

std::optional<CombinationOperands> combined_operands(const Lowering& lowering, const Node& node) {
  const ValueId a = node.inputs[0];
  const ValueId b = node.inputs[3];
  const ValueId value = node.outputs[0];
  if (!is_8_bit(lowering, a) || !is_8_bit(lowering, b)) return {};
  const auto a_scale = scale8_of(lowering, node.inputs[1], node.inputs[2], type_of(lowering, a));
  const auto b_scale = scale8_of(lowering, node.inputs[4], node.inputs[5], type_of(lowering, b));
  const ValueId zero = node.inputs.size() > 7 ? node.inputs[7] : ValueId{};
  const auto to = scale8_of(lowering, node.inputs[6], zero, type_of(lowering, value));
  if (!a_scale || !b_scale || !to) return {};
  CombinationOperands operands{.a = a,
                               .b = b,
                               .how = {.a = *a_scale,
                                       .b = *b_scale,
                                       .to = *to,
                                       .clamp = to->range(),
                                       .multiplies = node.op == "QLinearMul"}};
  if (lowering.dims(a) != lowering.dims(value)) {
    std::swap(operands.a, operands.b);
    std::swap(operands.how.a, operands.how.b);
  }
  return operands;
}

bool lower_combination(Lowering& lowering, NodeId id) {
  if (lower_as_byte_table(lowering, id)) return true;
  const Node& node = lowering.node(id);
  ValueId value = node.outputs[0];
  const Dims whole = lowering.dims(value);
  if (checked_product(whole).value_or(0) == 0) return false;
  auto operands = combined_operands(lowering, node);
  if (!operands) return false;
  const auto clip = clip_after(lowering, value);
  if (clip) operands->how.clamp = clip->clamp;
  const Dims a_dims = lowering.dims(operands->a);
  const Dims b_dims = lowering.dims(operands->b);
  const bool is_image = is_dense_image(lowering.native(operands->a)) && a_dims == whole &&
                        b_dims.size() == whole.size();
  const auto in_memory = [&](const Dims& dims) {
    return memory_order(widened(dims, whole.size()), is_image);
  };
  const auto plan = planned(operands->how, in_memory(a_dims), in_memory(b_dims), in_memory(whole));
  if (!plan) return false;
  const auto placed = [&](ValueId operand) {
    if (!is_image) return lowering.row_major(operand);
    return lowering.in_layout(operand,
                              image_desc(lowering.dims(operand), 0, type_of(lowering, operand)));
  };
  const Placement first = placed(operands->a);
  const Placement second = placed(operands->b);
  if (clip) {
    lowering.cover(clip->node);
    value = lowering.node(clip->node).outputs[0];
  }
  const Placement result = new_dense(lowering, is_image, whole, type_of(lowering, value));
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .precision = "int8",
                  .executed_flops = 3 * result.elements(),
                  .reads = {first, second},
                  .writes = {result}};
  if (clip) draft.nodes.push_back(clip->node);
  lowering.add_step(draft, combination_binder(*plan, first, second, result,
                                              threads_for_bytes(lowering, result.elements())));
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

void add_quantized_arithmetic_lowering(LowerTable& table) {
  table["com.microsoft.QLinearAdd"] = lower_combination;
  table["com.microsoft.QLinearMul"] = lower_combination;
}

}  // namespace assay::cpu
