// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "execute/cpu/kernels/dynamic_range.h"
#include "execute/cpu/lower/byte_table.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

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

// Converts from the type of the first input to that of the output; `quantized` is the 8-bit one of
// the two. `convert(from, scale, to, first, count)` does a stretch of elements.
template <typename Convert>
bool lower_conversion(Lowering& lowering, NodeId id, DataType quantized, const Convert& convert) {
  const Node& node = lowering.node(id);
  const ValueId input = node.inputs[0];
  const Dims dims = lowering.dims(input);
  const auto rows = scale_rows_of(lowering, node, dims, quantized);
  if (!rows) return false;
  const Placement source =
      rows->scales.size() == 1 ? dense_placement(lowering, input) : lowering.row_major(input);
  const Placement result = like(lowering, source, dims, type_of(lowering, node.outputs[0]));
  const int threads = threads_for_bytes(lowering, source.elements());
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .executed_flops = 2 * source.elements(),
                  .reads = {source},
                  .writes = {result}};
  lowering.add_step(draft, [=, rows = *rows](const Addresses& at) -> Runner {
    const std::byte* from = at.bytes(source);
    std::byte* to = at.bytes(result);
    return [=] {
      over_rows(rows, threads, [&](std::int64_t first, std::size_t count, const Scale8& scale) {
        convert(from, scale, to, first, count);
      });
    };
  });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_quantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId output = node.outputs[0];
  if (!lowering.is_float(node.inputs[0]) || !is_8_bit(lowering, output)) return false;
  return lower_conversion(lowering, id, type_of(lowering, output),
                          [](const std::byte* from, const Scale8& scale, std::byte* to,
                             std::int64_t first, std::size_t count) {
                            const auto* floats = reinterpret_cast<const float*>(from);
                            simd().quantize(floats + first, scale, to + first, count);
                          });
}

bool lower_dequantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId input = node.inputs[0];
  if (!is_8_bit(lowering, input) || !lowering.is_float(node.outputs[0])) return false;
  if (lower_as_byte_table(lowering, id)) return true;
  return lower_conversion(lowering, id, type_of(lowering, input),
                          [](const std::byte* from, const Scale8& scale, std::byte* to,
                             std::int64_t first, std::size_t count) {
                            auto* floats = reinterpret_cast<float*>(to);
                            simd().dequantize(from + first, scale, floats + first, count);
                          });
}

bool lower_dynamic_quantize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || lowering.options().ieee_strict) return false;
  if (node.outputs.size() != 3 || !node.has_output(1) || !node.has_output(2)) return false;
  const Placement source = dense_placement(lowering, node.inputs[0]);
  if (source.elements() == 0) return false;
  std::array<Placement, 3> results;
  results[0] = like(lowering, source, source.dims, DataType::UInt8);
  for (std::size_t i = 1; i < 3; ++i) results[i] = lowering.new_row_major(node.outputs[i]);
  const int threads = threads_for_bytes(lowering, source.elements());
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

}  // namespace

void add_quantized_conversion_lowering(LowerTable& table) {
  for (const std::string domain : {"", "com.microsoft."}) {
    table[domain + "QuantizeLinear"] = lower_quantize;
    table[domain + "DequantizeLinear"] = lower_dequantize;
  }
  table["DynamicQuantizeLinear"] = lower_dynamic_quantize;
}

}  // namespace assay::cpu
