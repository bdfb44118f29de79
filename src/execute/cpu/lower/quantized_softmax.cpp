// QLinearSoftmax, row by row: each row is a float row for a moment.
#include "base/checked.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/quantization.h"

namespace assay::cpu {

namespace {

bool lower_quantized_softmax(Lowering& lowering, NodeId id) {
  constexpr std::int64_t kAlongAxis = 13;  // the opset since which only one axis counts
  const Node& node = lowering.node(id);
  const ValueId input = node.inputs[0];
  const ValueId value = node.outputs[0];
  if (!is_8_bit(lowering, input) || !is_8_bit(lowering, value)) return false;
  const Dims dims = lowering.dims(input);
  const auto axis = axis_of(node.int_or("axis", -1), dims.size());
  const bool flattens = node.int_or("opset", kAlongAxis) < kAlongAxis;
  if (!axis || (!flattens && !is_innermost(dims, *axis))) return false;
  const auto zero = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const auto from = scale8_of(lowering, node.inputs[1], zero(2), type_of(lowering, input));
  auto to = scale8_of(lowering, node.inputs[3], zero(4), type_of(lowering, value));
  if (to) to->scale = 1 / kernels::whole_reciprocal(to->scale);
  const Rows rows = rows_from(dims, *axis);
  if (!from || !to || rows.count * rows.width == 0) return false;
  const Placement source = lowering.row_major(input);
  const Placement result = lowering.new_row_major(value);
  const int threads = threads_for(lowering, rows);
  const Placement row_floats = row_major_placement(
      lowering.new_buffer(threads * rows.width * static_cast<std::int64_t>(sizeof(float))),
      DataType::Float32, {threads, rows.width});
  StepDraft draft{.nodes = {id},
                  .algorithm = "row by row",
                  .precision = "int8",
                  .executed_flops = saturating_multiply(rows.count * rows.width, 9),
                  .reads = {source},
                  .writes = {result},
                  .workspace = {row_floats.buffer}};
  lowering.add_step(draft, [=, from = *from, to = *to](const Addresses& at) -> Runner {
    const std::byte* in = at.bytes(source);
    std::byte* out = at.bytes(result);
    float* floats = at.floats(row_floats);
    return [=] {
      const auto width = static_cast<std::size_t>(rows.width);
      execute::for_each_in_parallel(threads, static_cast<std::size_t>(threads), [&](std::size_t t) {
        float* row = floats + t * width;
        const auto team = static_cast<std::size_t>(threads);
        const auto count = static_cast<std::size_t>(rows.count);
        for (std::size_t i = count * t / team; i < count * (t + 1) / team; ++i) {
          simd().dequantize(in + i * width, from, row, width);
          simd().softmax(row, row, width);
          simd().quantize(row, to, out + i * width, width);
        }
      });
    };
  });
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

void add_quantized_softmax_lowering(LowerTable& table) {
  table["com.microsoft.QLinearSoftmax"] = lower_quantized_softmax;
}

}  // namespace assay::cpu
