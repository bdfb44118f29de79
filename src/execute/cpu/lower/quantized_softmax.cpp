// QLinearSoftmax, row by row, by tables: of the exponential of each 8-bit number, and, for each
// row, of the result that belongs to each. Sums and quotients are rounded as in ONNX Runtime, so
// that results are the same to the last bit: one step more or less would spread through a whole
// network.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/simd/byte_table.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/quantization.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kNumbers = 256;
constexpr std::size_t kSoftmaxRows = 4;  // whose sums do not wait for each other

struct SoftmaxTables {
  std::array<float, kNumbers> exponentials;  // of a row whose greatest number is 255
  std::array<float, kNumbers> steps;         // the same in steps of the result
  std::uint8_t sign = 0;                     // what makes a number unsigned
  Scale8 to;

  // Exponentials are as large as a sum of `width` floats allows.
  SoftmaxTables(const Scale8& from, const Scale8& result, std::size_t width)
      : sign(from.is_signed ? 0x80 : 0), to(result) {
    constexpr double kReserve = 5;
    const float most = std::numeric_limits<float>::max() / static_cast<float>(width);
    const auto scale = static_cast<double>(from.scale);
    const double shift = std::max(0.0, static_cast<double>(std::log(most)) - kReserve) / scale;
    const float whole = kernels::whole_reciprocal(result.scale);
    for (std::size_t i = 0; i < kNumbers; ++i) {
      const double exponent = (static_cast<double>(i) - 255 + shift) * scale;
      exponentials[i] = static_cast<float>(std::exp(exponent));
      steps[i] = exponentials[i] * whole;
    }
  }
};

struct ByteRow {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
  std::size_t greatest = 0;
  float sum = 0;
};

std::size_t greatest_in(const ByteRow& row, std::size_t width, std::uint8_t sign) {
  std::uint8_t greatest = 0;
  for (std::size_t i = 0; i < width; ++i)
    greatest = std::max(greatest, static_cast<std::uint8_t>(row.from[i] ^ sign));
  return greatest;
}

void add_exponentials(const SoftmaxTables& tables, std::array<ByteRow, kSoftmaxRows>& rows,
                      std::size_t width) {
  std::array<const float*, kSoftmaxRows> shifted;
  for (std::size_t r = 0; r < kSoftmaxRows; ++r)
    shifted[r] = tables.exponentials.data() + 255 - rows[r].greatest;
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t r = 0; r < kSoftmaxRows; ++r)
      rows[r].sum += shifted[r][rows[r].from[i] ^ tables.sign];
  }
}

void write_row(const SoftmaxTables& tables, const ByteRow& row, std::size_t width) {
  std::array<std::uint8_t, kNumbers> results{};
  const Scale8 by_sum{
      .scale = row.sum, .zero_point = tables.to.zero_point, .is_signed = tables.to.is_signed};
  simd().quantize(tables.steps.data() + 255 - row.greatest, by_sum, results.data(),
                  row.greatest + 1);
  if (tables.sign != 0) std::rotate(results.begin(), results.begin() + kNumbers / 2, results.end());
  look_up(results.data(), row.from, row.to, width);
}

// Rows first to last; where fewer than kSoftmaxRows are left, the last one is summed again.
void softmax_of_rows(const SoftmaxTables& tables, const std::uint8_t* from, std::uint8_t* to,
                     std::size_t width, std::size_t first, std::size_t last) {
  for (std::size_t at = first; at < last; at += kSoftmaxRows) {
    std::array<ByteRow, kSoftmaxRows> rows;
    for (std::size_t r = 0; r < kSoftmaxRows; ++r) {
      const std::size_t row = std::min(at + r, last - 1) * width;
      rows[r] = {.from = from + row, .to = to + row};
      rows[r].greatest = greatest_in(rows[r], width, tables.sign);
    }
    add_exponentials(tables, rows, width);
    for (std::size_t r = 0; r < std::min(kSoftmaxRows, last - at); ++r)
      write_row(tables, rows[r], width);
  }
}

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
  const auto to = scale8_of(lowering, node.inputs[3], zero(4), type_of(lowering, value));
  const Rows rows = rows_from(dims, *axis);
  if (!from || !to || rows.count * rows.width == 0) return false;
  const Placement source = lowering.row_major(input);
  const Placement result = lowering.new_row_major(value);
  const int threads = threads_for(lowering, rows);
  StepDraft draft{.nodes = {id},
                  .algorithm = "row by row",
                  .precision = "int8",
                  .executed_flops = saturating_multiply(rows.count * rows.width, 9),
                  .reads = {source},
                  .writes = {result}};
  const auto width = static_cast<std::size_t>(rows.width);
  const SoftmaxTables tables(*from, *to, width);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const auto* in = reinterpret_cast<const std::uint8_t*>(at.bytes(source));
    auto* out = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    return [=] {
      execute::in_parallel(threads, rows.count, [&](std::int64_t first, std::int64_t last) {
        softmax_of_rows(tables, in, out, width, static_cast<std::size_t>(first),
                        static_cast<std::size_t>(last));
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
