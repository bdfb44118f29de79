// Element by element on 8-bit numbers: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear,
// QLinearAdd, QLinearMul, QLinearConcat, and whatever depends on one 8-bit number alone, which a
// table of 256 entries answers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "base/checked.h"
#include "execute/cpu/kernels/dynamic_range.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/simd/byte_table.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/kernel.h"

namespace assay::cpu {

namespace {

constexpr std::int64_t kBytesWorthThreads = 32 << 10;

int threads_for(const Lowering& lowering, std::int64_t elements) {
  return elements >= kBytesWorthThreads ? lowering.threads() : 1;
}

// A value without gaps, channels last or row by row.
Placement dense(Lowering& lowering, ValueId id) {
  const Placement native = lowering.native(id);
  return is_dense_image(native) ? native : lowering.row_major(id);
}

// Rows of `width` elements that share a scale, one scale after the other, over and over.
struct ScaleRows {
  std::vector<Scale8> scales;
  std::int64_t width = 0;
  std::int64_t rows = 0;
};

std::optional<ScaleRows> scale_rows_of(const Lowering& lowering, const Node& node, const Dims& dims,
                                       DataType type) {
  if (node.int_or("block_size", 0) != 0 || !is_8_bit(type)) return {};
  const Tensor* scale = lowering.constant(node.inputs[1]);
  const Tensor* zero = node.has_input(2) ? lowering.constant(node.inputs[2]) : nullptr;
  if (scale == nullptr || scale->type() != DataType::Float32) return {};
  if (node.has_input(2) && zero == nullptr) return {};
  const auto factors = scale->to_double();
  const auto zeros = zero == nullptr ? std::vector<double>(factors.size(), 0) : zero->to_double();
  const std::int64_t elements = checked_product(dims).value_or(0);
  if (elements == 0 || zeros.size() != factors.size()) return {};
  ScaleRows rows;
  for (std::size_t i = 0; i < factors.size(); ++i)
    rows.scales.push_back(scale8(factors[i], zeros[i], type));
  rows.width = elements;
  if (factors.size() > 1) {
    const auto axis = axis_of(node.int_or("axis", 1), dims.size());
    if (!axis || dims[*axis] != static_cast<std::int64_t>(factors.size())) return {};
    rows.width = checked_product(std::span(dims).subspan(*axis + 1)).value_or(0);
  }
  rows.rows = elements / rows.width;
  return rows;
}

// Calls `work(first, count, scale)` for stretches of elements with one scale.
template <typename Work>
void over_rows(const ScaleRows& rows, int threads, const Work& work) {
  const std::int64_t elements = rows.rows * rows.width;
  execute::in_parallel(threads, elements, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t row = first / rows.width;
      const std::int64_t until = std::min(last, (row + 1) * rows.width);
      const auto at = static_cast<std::size_t>(row) % rows.scales.size();
      work(first, static_cast<std::size_t>(until - first), rows.scales[at]);
      first = until;
    }
  });
}

bool lower_quantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId input = node.inputs[0];
  if (!lowering.is_float(input) || !is_8_bit(lowering, node.outputs[0])) return false;
  const Dims dims = lowering.dims(input);
  const DataType type = type_of(lowering, node.outputs[0]);
  const auto rows = scale_rows_of(lowering, node, dims, type);
  if (!rows) return false;
  const Placement source =
      rows->scales.size() == 1 ? dense(lowering, input) : lowering.row_major(input);
  const Placement result = like(lowering, source, dims, type);
  const int threads = threads_for(lowering, source.elements());
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .executed_flops = 2 * source.elements(),
                  .reads = {source},
                  .writes = {result}};
  lowering.add_step(draft, [=, rows = *rows](const Addresses& at) -> Runner {
    const float* from = at.floats(source);
    std::byte* to = at.bytes(result);
    return [=] {
      over_rows(rows, threads, [&](std::int64_t first, std::size_t count, const Scale8& scale) {
        simd().quantize(from + first, scale, to + first, count);
      });
    };
  });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_table_from(Lowering& lowering, NodeId id);

bool lower_dequantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId input = node.inputs[0];
  if (!is_8_bit(lowering, input) || !lowering.is_float(node.outputs[0])) return false;
  if (lower_table_from(lowering, id)) return true;
  const Dims dims = lowering.dims(input);
  const auto rows = scale_rows_of(lowering, node, dims, type_of(lowering, input));
  if (!rows) return false;
  const Placement source =
      rows->scales.size() == 1 ? dense(lowering, input) : lowering.row_major(input);
  const Placement result = like(lowering, source, dims, DataType::Float32);
  const int threads = threads_for(lowering, source.elements());
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .executed_flops = 2 * source.elements(),
                  .reads = {source},
                  .writes = {result}};
  lowering.add_step(draft, [=, rows = *rows](const Addresses& at) -> Runner {
    const std::byte* from = at.bytes(source);
    float* to = at.floats(result);
    return [=] {
      over_rows(rows, threads, [&](std::int64_t first, std::size_t count, const Scale8& scale) {
        simd().dequantize(from + first, scale, to + first, count);
      });
    };
  });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_dynamic_quantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || lowering.options().ieee_strict) return false;
  if (node.outputs.size() != 3 || !node.has_output(1) || !node.has_output(2)) return false;
  const Placement source = dense(lowering, node.inputs[0]);
  if (source.elements() == 0) return false;
  std::array<Placement, 3> results;
  results[0] = like(lowering, source, source.dims, DataType::UInt8);
  for (std::size_t i = 1; i < 3; ++i) results[i] = lowering.new_row_major(node.outputs[i]);
  const int threads = threads_for(lowering, source.elements());
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .executed_flops = 4 * source.elements(),
                  .reads = {source},
                  .writes = {results.begin(), results.end()}};
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const float* from = at.floats(source);
    std::byte* to = at.bytes(results[0]);
    float* scale_at = at.floats(results[1]);
    std::byte* zero_at = at.bytes(results[2]);
    const std::int64_t count = source.elements();
    return [=] {
      const Scale8 scale = scale_for(range_of(from, count, threads));
      *scale_at = scale.scale;
      *zero_at = static_cast<std::byte>(scale.zero_point);
      execute::in_parallel(threads, count, [&](std::int64_t first, std::int64_t last) {
        simd().quantize(from + first, scale, to + first, static_cast<std::size_t>(last - first));
      });
    };
  });
  for (std::size_t i = 0; i < 3; ++i) lowering.set_placement(node.outputs[i], results[i]);
  return true;
}

// Tables.

using Table = std::array<std::uint8_t, 256>;

Tensor all_bytes(DataType type) {
  std::vector<std::byte> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return Tensor(type, {256}, heap_storage(std::move(bytes)));
}

const std::set<std::string>& elementwise_ops() {
  static const std::set<std::string> ops = {"Relu",
                                            "Clip",
                                            "Sigmoid",
                                            "HardSigmoid",
                                            "HardSwish",
                                            "LeakyRelu",
                                            "Tanh",
                                            "Elu",
                                            "Gelu",
                                            "Softplus",
                                            "Softsign",
                                            "Exp",
                                            "Sqrt",
                                            "Abs",
                                            "Neg",
                                            "Erf",
                                            "Mish",
                                            "Selu",
                                            "Celu",
                                            "Add",
                                            "Sub",
                                            "Mul",
                                            "Div",
                                            "Pow",
                                            "Min",
                                            "Max",
                                            "QLinearAdd",
                                            "QLinearMul",
                                            "ThresholdedRelu",
                                            "QLinearSigmoid",
                                            "QLinearLeakyRelu"};
  return ops;
}

// A function of one 8-bit value that is being put together, node by node.
struct TableDraft {
  ValueId source;
  Tensor inputs;   // every number that the source may be
  Tensor numbers;  // what becomes of each
  ValueId value;
  std::vector<NodeId> nodes = {};
};

Tensor evaluated(const Lowering& lowering, const Node& node, const TableDraft& draft) {
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) {
    const Tensor* constant = input.is_valid() ? lowering.constant(input) : nullptr;
    inputs.push_back(input == draft.value    ? draft.numbers
                     : input == draft.source ? draft.inputs
                     : constant != nullptr   ? *constant
                                             : Tensor());
  }
  return kernels::evaluate(node, inputs, lowering.graph().opset(node.domain)).front();
}

void take(const Lowering& lowering, NodeId id, TableDraft& draft) {
  const Node& node = lowering.node(id);
  draft.numbers = evaluated(lowering, node, draft);
  draft.value = node.outputs[0];
  draft.nodes.push_back(id);
}

bool is_one_number(const Lowering& lowering, ValueId id) {
  const Tensor* constant = lowering.constant(id);
  return constant != nullptr && constant->elements() == 1;
}

// Element by element, of nothing but the value that the table has come to, the value it began with
// and single numbers: x · sigmoid(x), say.
bool depends_on_source_alone(const Lowering& lowering, const Node& node, const TableDraft& draft) {
  if (!elementwise_ops().contains(node.op) || node.outputs.size() != 1) return false;
  const ValueId result = node.outputs[0];
  if (lowering.is_dynamic(result) || lowering.dims(result) != lowering.dims(draft.source))
    return false;
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    return !input.is_valid() || input == draft.value || input == draft.source ||
           is_one_number(lowering, input);
  });
}

bool is_conversion_by_one_scale(const Lowering& lowering, const Node& node,
                                const TableDraft& draft) {
  const bool quantizes = node.op == "QuantizeLinear" && is_8_bit(lowering, node.outputs[0]);
  const bool dequantizes = node.op == "DequantizeLinear" && lowering.is_float(node.outputs[0]);
  return (quantizes || dequantizes) && node.inputs[0] == draft.value &&
         lowering.number(node.inputs[1]);
}

// Follows the only readers; the draft ends with an 8-bit value.
void extend(const Lowering& lowering, TableDraft& draft) {
  TableDraft longest = draft;
  for (;;) {
    const NodeId next = lowering.only_reader(draft.value);
    if (!next.is_valid() || lowering.is_covered(next)) break;
    const Node& node = lowering.node(next);
    const bool fits = depends_on_source_alone(lowering, node, draft) ||
                      is_conversion_by_one_scale(lowering, node, draft);
    if (!fits || !kernels::has_kernel(node)) break;
    take(lowering, next, draft);
    if (is_8_bit(lowering, draft.value)) longest = draft;
  }
  draft = longest;
}

void add_table_step(Lowering& lowering, const TableDraft& draft) {
  const Placement source = dense(lowering, draft.source);
  const Placement result =
      like(lowering, source, lowering.dims(draft.value), type_of(lowering, draft.value));
  Table table;
  const auto bytes = draft.numbers.bytes();
  std::memcpy(table.data(), bytes.data(), table.size());
  const int threads = threads_for(lowering, source.elements());
  for (const NodeId node : draft.nodes) lowering.cover(node);
  StepDraft step{.nodes = draft.nodes,
                 .algorithm = "table",
                 .precision = "int8",
                 .reads = {source},
                 .writes = {result}};
  lowering.add_step(step, [=](const Addresses& at) -> Runner {
    const auto* from = reinterpret_cast<const std::uint8_t*>(at.bytes(source));
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    const std::int64_t count = source.elements();
    return [=] {
      execute::in_parallel(threads, count, [&](std::int64_t first, std::int64_t last) {
        look_up(table.data(), from + first, to + first, static_cast<std::size_t>(last - first));
      });
    };
  });
  lowering.set_placement(draft.value, result);
}

bool lower_table_from(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId source = node.inputs[0];
  if (!is_8_bit(lowering, source) || lowering.constant(source) != nullptr) return false;
  const Tensor all = all_bytes(type_of(lowering, source));
  TableDraft draft{.source = source, .inputs = all, .numbers = all, .value = source};
  const bool starts = is_conversion_by_one_scale(lowering, node, draft) ||
                      depends_on_source_alone(lowering, node, draft);
  if (!starts || !kernels::has_kernel(node) || lowering.dims(source).empty()) return false;
  take(lowering, id, draft);
  extend(lowering, draft);
  if (!is_8_bit(lowering, draft.value)) return false;
  add_table_step(lowering, draft);
  return true;
}

// Two operands.

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

// Nothing where an operand is neither whole nor one number along the last axes.
std::optional<CombinationPlan> planned(Combination8 how, const Dims& a, const Dims& b,
                                       const Dims& whole) {
  constexpr std::int64_t kMostStretches = 1 << 20;
  const std::size_t rank = whole.size();
  const auto same_axes = [&](const Dims& operand) {
    std::size_t count = 0;
    while (count < rank && operand[rank - 1 - count] == whole[rank - 1 - count]) ++count;
    return count;
  };
  const auto single_axes = [&](const Dims& operand) {
    std::size_t count = 0;
    while (count < rank && operand[rank - 1 - count] == 1) ++count;
    return count;
  };
  const std::size_t a_axes = same_axes(a);
  std::size_t axes = std::min(a_axes, same_axes(b));
  if (const std::size_t alone = std::min(a_axes, single_axes(b)); alone > axes) {
    axes = alone;
    how.b_is_one_number = true;
  }
  CombinationPlan plan{.how = how, .stretches = {}, .width = 1};
  for (std::size_t i = rank - axes; i < rank; ++i) plan.width *= whole[i];
  const std::int64_t count =
      checked_product(whole).value_or(0) / std::max<std::int64_t>(plan.width, 1);
  if (axes == 0 && rank > 0 && whole[rank - 1] != 1) return {};
  if (count > kMostStretches) return {};
  const Dims a_strides = broadcast_strides(a);
  const Dims b_strides = broadcast_strides(b);
  Dims at(rank - axes, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    Stretch8 stretch;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      stretch.a += at[axis] * a_strides[axis];
      stretch.b += at[axis] * b_strides[axis];
    }
    plan.stretches.push_back(stretch);
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < whole[axis]) break;
      at[axis] = 0;
    }
  }
  return plan;
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

bool lower_combination(Lowering& lowering, NodeId id) {
  if (lower_table_from(lowering, id)) return true;
  const Node& node = lowering.node(id);
  ValueId a = node.inputs[0];
  ValueId b = node.inputs[3];
  ValueId value = node.outputs[0];
  if (!is_8_bit(lowering, a) || !is_8_bit(lowering, b)) return false;
  const Dims whole = lowering.dims(value);
  if (checked_product(whole).value_or(0) == 0) return false;
  auto a_scale = scale8_of(lowering, node.inputs[1], node.inputs[2], type_of(lowering, a));
  auto b_scale = scale8_of(lowering, node.inputs[4], node.inputs[5], type_of(lowering, b));
  const auto to =
      scale8_of(lowering, node.inputs[6], node.inputs.size() > 7 ? node.inputs[7] : ValueId{},
                type_of(lowering, value));
  if (!a_scale || !b_scale || !to) return false;
  if (lowering.dims(a) != whole) {
    std::swap(a, b);
    std::swap(a_scale, b_scale);
  }
  Combination8 how{.a = *a_scale,
                   .b = *b_scale,
                   .to = *to,
                   .clamp = to->range(),
                   .multiplies = node.op == "QLinearMul"};
  const auto clip = clip_after(lowering, value);
  if (clip) how.clamp = clip->clamp;
  const Dims b_dims = widened(lowering.dims(b), whole.size());
  const bool is_image = is_dense_image(lowering.native(a)) && lowering.dims(a) == whole &&
                        lowering.dims(b).size() == whole.size();
  const auto plan = planned(how, memory_order(widened(lowering.dims(a), whole.size()), is_image),
                            memory_order(b_dims, is_image), memory_order(whole, is_image));
  if (!plan) return false;
  const auto placed = [&](ValueId operand) {
    if (!is_image) return lowering.row_major(operand);
    return lowering.in_layout(operand,
                              image_desc(lowering.dims(operand), 0, type_of(lowering, operand)));
  };
  const Placement first = placed(a);
  const Placement second = placed(b);
  if (clip) {
    lowering.cover(clip->node);
    value = lowering.node(clip->node).outputs[0];
  }
  const DataType type = type_of(lowering, value);
  const Placement result = lowering.new_placement(
      is_image ? image_desc(whole, 0, type) : plain_desc(whole, type), whole);
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .precision = "int8",
                  .executed_flops = 3 * result.elements(),
                  .reads = {first, second},
                  .writes = {result}};
  if (clip) draft.nodes.push_back(clip->node);
  lowering.add_step(draft, combination_binder(*plan, first, second, result,
                                              threads_for(lowering, result.elements())));
  lowering.set_placement(value, result);
  return true;
}

// Concat.

struct Part8 {
  ValueId value;
  Scale8 scale;
};

std::optional<std::vector<Part8>> parts_of(const Lowering& lowering, const Node& node) {
  std::vector<Part8> parts;
  for (std::size_t i = 2; i + 2 < node.inputs.size(); i += 3) {
    if (!is_8_bit(lowering, node.inputs[i])) return {};
    const auto scale = scale8_of(lowering, node.inputs[i + 1], node.inputs[i + 2],
                                 type_of(lowering, node.inputs[i]));
    if (!scale) return {};
    parts.push_back({node.inputs[i], *scale});
  }
  return parts;
}

bool are_alike(const Scale8& a, const Scale8& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.is_signed == b.is_signed;
}

Table conversion(const Scale8& from, const Scale8& to) {
  Table bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::array<float, 256> numbers;
  simd().dequantize(bytes.data(), from, numbers.data(), numbers.size());
  simd().quantize(numbers.data(), to, bytes.data(), numbers.size());
  return bytes;
}

// Rows of the result and the stretch of each that a part fills.
struct PartCopy {
  Placement from;
  std::int64_t width = 0;
  std::int64_t at = 0;
  std::optional<Table> table;
};

Binder concat_binder(const std::vector<PartCopy>& parts, const Placement& result, std::int64_t rows,
                     int threads) {
  return [=](const Addresses& at) -> Runner {
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    std::vector<const std::uint8_t*> from;
    std::int64_t stride = 0;
    for (const PartCopy& part : parts) {
      from.push_back(reinterpret_cast<const std::uint8_t*>(at.bytes(part.from)));
      stride += part.width;
    }
    return [=] {
      execute::in_parallel(threads, rows, [&](std::int64_t first, std::int64_t last) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
          const auto width = static_cast<std::size_t>(parts[i].width);
          for (std::int64_t row = first; row < last; ++row) {
            const std::uint8_t* source = from[i] + row * parts[i].width;
            std::uint8_t* target = to + row * stride + parts[i].at;
            if (parts[i].table) {
              look_up(parts[i].table->data(), source, target, width);
            } else {
              std::memcpy(target, source, width);
            }
          }
        }
      });
    };
  };
}

bool lower_quantized_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId value = node.outputs[0];
  const Dims whole = lowering.dims(value);
  const auto to = scale8_of(lowering, node.inputs[0], node.inputs[1], type_of(lowering, value));
  const auto parts = parts_of(lowering, node);
  const auto axis = axis_of(node.int_or("axis", 1), whole.size());
  if (!to || !parts || !axis || checked_product(whole).value_or(0) == 0) return false;
  const bool is_image = *axis == 1 && std::ranges::all_of(*parts, [&](const Part8& part) {
    return is_dense_image(lowering.native(part.value));
  });
  std::vector<PartCopy> copies;
  StepDraft draft{.nodes = {id}, .algorithm = "copy", .precision = "int8"};
  std::int64_t at = 0;
  for (const Part8& part : *parts) {
    const Placement from = is_image ? lowering.native(part.value) : lowering.row_major(part.value);
    PartCopy copy{.from = from, .at = at, .table = {}};
    copy.width =
        is_image ? from.dims[1] : checked_product(std::span(from.dims).subspan(*axis)).value_or(0);
    if (!are_alike(part.scale, *to)) copy.table = conversion(part.scale, *to);
    at += copy.width;
    draft.reads.push_back(from);
    copies.push_back(std::move(copy));
  }
  const DataType type = type_of(lowering, value);
  const Placement result = lowering.new_placement(
      is_image ? image_desc(whole, 0, type) : plain_desc(whole, type), whole);
  draft.writes.push_back(result);
  lowering.add_step(draft, concat_binder(copies, result, result.elements() / at,
                                         threads_for(lowering, result.elements())));
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

void add_quantized_elementwise_lowering(LowerTable& table) {
  for (const std::string domain : {"", "com.microsoft."}) {
    table[domain + "QuantizeLinear"] = lower_quantize;
    table[domain + "DequantizeLinear"] = lower_dequantize;
  }
  table["DynamicQuantizeLinear"] = lower_dynamic_quantize;
  table["com.microsoft.QLinearSigmoid"] = lower_table_from;
  table["com.microsoft.QLinearLeakyRelu"] = lower_table_from;
  table["com.microsoft.QLinearAdd"] = lower_combination;
  table["com.microsoft.QLinearMul"] = lower_combination;
  table["com.microsoft.QLinearConcat"] = lower_quantized_concat;
}

}  // namespace assay::cpu
