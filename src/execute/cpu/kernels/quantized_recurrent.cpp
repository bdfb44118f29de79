#include "execute/cpu/kernels/quantized_recurrent.h"

#include <array>
#include <numeric>

#include "execute/cpu/kernels/dynamic_range.h"
#include "execute/cpu/kernels/recurrent_run.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

constexpr std::int64_t kRecurrentRows = 24;
constexpr std::int64_t kGates = 4;
constexpr std::int64_t kInputsWorthSharing = 32 << 10;

// Unsigned numbers become signed ones, and their zero points with them.
std::int32_t signed_number(const PlainBytes& matrix, std::int64_t at) {
  const auto stored = matrix.numbers[at];
  return matrix.is_signed ? static_cast<std::int8_t>(stored)
                          : static_cast<std::int32_t>(stored) - 128;
}

std::int32_t signed_zero_point(const PlainBytes& matrix, std::int64_t column) {
  const std::int32_t stored =
      matrix.zero_points[matrix.zero_points.size() == 1 ? 0 : static_cast<std::size_t>(column)];
  return matrix.is_signed ? stored : stored - 128;
}

// Calls `work(from, to)` with each column's place in ONNX's order and in that of panels.
template <typename Work>
void for_each_column(const RecurrentSizes& sizes, const Work& work) {
  for (std::int64_t panel = 0; panel < sizes.panels(); ++panel) {
    for (std::int64_t gate = 0; gate < sizes.gates; ++gate) {
      const GateRows rows = gate_rows(sizes, panel, gate);
      for (std::int64_t i = 0; i < rows.count; ++i) work(rows.from + i, rows.to + i);
    }
  }
}

std::vector<float> packed_bias(const RecurrentSizes& sizes, const float* bias) {
  std::vector<float> packed(static_cast<std::size_t>(sizes.gate_row()), 0.0f);
  if (bias == nullptr) return packed;
  for (std::int64_t panel = 0; panel < sizes.panels(); ++panel) {
    for (std::int64_t gate = 0; gate < sizes.gates; ++gate)
      pack_bias(sizes, gate_rows(sizes, panel, gate), bias, packed.data(), nullptr);
  }
  return packed;
}

// Rows of a byte product after quantisation.
struct QuantizedRow {
  Scale8 scale;
  std::int32_t sum = 0;  // of its numbers, where the matrix has zero points
};

std::int32_t sum_of(const ByteColumns& columns, const std::uint8_t* row) {
  if (!columns.has_zero_points()) return 0;
  return std::accumulate(row, row + columns.depth(), std::int32_t{0});
}

class QuantizedRun : public RecurrentRun {
 public:
  QuantizedRun(const QuantizedLstm& layer, const QuantizedBuffers& buffers,
               ByteProductFunction product)
      : RecurrentRun(layer.sizes, buffers.floats),
        layer_(layer),
        buffers_(buffers),
        product_(product) {}

  void prepare(int threads) {
    load_states();
    quantize_source(s_.rows() * s_.inputs >= kInputsWorthSharing ? threads : 1);
  }

  // Gates of all steps, as far as they depend on the input.
  void multiply_input(std::int64_t panel) const {
    const std::int64_t stride = layer_.input.padded_depth();
    for (std::int64_t row = 0; row < s_.rows(); row += kRecurrentRows) {
      const std::int64_t count = std::min(kRecurrentRows, s_.rows() - row);
      const std::uint8_t* rows = buffers_.workspace + row * stride;
      std::int32_t sums[kRecurrentRows * kGates * kPanelUnits];
      multiply(layer_.input, buffers_.input, panel, rows, stride, count, sums);
      for (std::int64_t r = 0; r < count; ++r) {
        const std::int32_t sum = sum_of(layer_.input, rows + r * stride);
        scale(layer_.input, {source_scale_, sum}, panel, sums + r * s_.panel_width(),
              layer_.bias.data() + panel * s_.panel_width(),
              b_.gates + (row + r) * s_.gate_row() + panel * s_.panel_width());
      }
    }
  }

  // One step of a thread's own panels.
  void step(std::int64_t step, std::int64_t first, std::int64_t last, std::int64_t thread) const {
    const std::int64_t time = s_.time_of(step);
    std::uint8_t* numbers = state_numbers(thread);
    for (std::int64_t row = 0; row < s_.batch; row += kRecurrentRows) {
      const std::int64_t count = std::min(kRecurrentRows, s_.batch - row);
      std::array<QuantizedRow, kRecurrentRows> rows;
      for (std::int64_t r = 0; r < count; ++r)
        rows[static_cast<std::size_t>(r)] =
            quantized_state(before(time) + (row + r) * s_.padded(), numbers + r * s_.padded());
      for_each_panel(step, first, last, [&](std::int64_t panel) {
        update_panel(time, panel, row, std::span(rows).first(static_cast<std::size_t>(count)),
                     numbers);
      });
    }
  }

 private:
  void quantize_source(int threads) {
    const std::int64_t stride = layer_.input.padded_depth();
    source_scale_ = scale_for(range_of(b_.source, s_.rows() * s_.inputs, threads));
    execute::in_parallel(threads, s_.rows(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        std::uint8_t* to = buffers_.workspace + row * stride;
        simd().quantize(b_.source + row * s_.inputs, source_scale_, to,
                        static_cast<std::size_t>(s_.inputs));
        std::fill(to + s_.inputs, to + stride, std::uint8_t{0});
      }
    });
  }

  // Every thread quantises all of the state for itself: that is less work than waiting for others.
  QuantizedRow quantized_state(const float* state, std::uint8_t* numbers) const {
    const Scale8 scale =
        scale_for(simd().value_range(state, static_cast<std::size_t>(s_.padded())));
    simd().quantize(state, scale, numbers, static_cast<std::size_t>(s_.padded()));
    return {scale, sum_of(layer_.recurrent, numbers)};
  }

  std::uint8_t* state_numbers(std::int64_t thread) const {
    return buffers_.workspace + s_.rows() * layer_.input.padded_depth() +
           thread * std::min(kRecurrentRows, s_.batch) * s_.padded();
  }

  void update_panel(std::int64_t time, std::int64_t panel, std::int64_t first,
                    std::span<const QuantizedRow> rows, const std::uint8_t* numbers) const {
    std::int32_t sums[kRecurrentRows * kGates * kPanelUnits];
    multiply(layer_.recurrent, buffers_.recurrent, panel, numbers, s_.padded(),
             static_cast<std::int64_t>(rows.size()), sums);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::int64_t row = first + static_cast<std::int64_t>(r);
      float gates[kGates * kPanelUnits];
      scale(layer_.recurrent, rows[r], panel,
            sums + static_cast<std::int64_t>(r) * s_.panel_width(),
            gates_at(time, panel) + row * s_.gate_row(), gates);
      update_lstm(time, row, panel, gates);
      write_output(time, row, panel);
    }
  }

  void multiply(const ByteColumns& columns, const std::int8_t* packed, std::int64_t panel,
                const std::uint8_t* rows, std::int64_t stride, std::int64_t count,
                std::int32_t* sums) const {
    const std::int64_t width = s_.panel_width();
    product_({.rows = rows,
              .count = static_cast<std::size_t>(count),
              .stride = static_cast<std::size_t>(stride),
              .blocks = packed + panel * width * columns.padded_depth(),
              .depth = static_cast<std::size_t>(columns.padded_depth()),
              .columns = static_cast<std::size_t>(width)},
             sums, static_cast<std::size_t>(width));
  }

  void scale(const ByteColumns& columns, const QuantizedRow& row, std::int64_t panel,
             const std::int32_t* sums, const float* bias, float* out) const {
    ScaledSums how = columns.scaled(row.scale, row.sum, panel * s_.panel_width());
    how.bias = bias;
    simd().scale_sums(how, sums, out, static_cast<std::size_t>(s_.panel_width()));
  }

  const QuantizedLstm& layer_;
  const QuantizedBuffers& buffers_;
  const ByteProductFunction product_;
  Scale8 source_scale_;
};

}  // namespace

ByteColumns::ByteColumns(const RecurrentSizes& sizes, const PlainBytes& matrix)
    : depth_(matrix.depth),
      scales_(static_cast<std::size_t>(sizes.gate_row()), 0.0f),
      sums_(scales_.size(), 0),
      zero_points_(scales_.size(), 0) {
  for_each_column(sizes, [&](std::int64_t from, std::int64_t to) {
    const auto at = static_cast<std::size_t>(to);
    const std::int32_t zero = signed_zero_point(matrix, from);
    scales_[at] = matrix.scales[matrix.scales.size() == 1 ? 0 : static_cast<std::size_t>(from)];
    zero_points_[at] = zero;
    has_zero_points_ = has_zero_points_ || zero != 0;
    for (std::int64_t k = 0; k < depth_; ++k)
      sums_[at] += signed_number(matrix, k * sizes.weight_rows() + from) - zero;
  });
}

ScaledSums ByteColumns::scaled(const Scale8& source, std::int32_t source_sum,
                               std::int64_t first) const {
  return {.source_zero_point = source.zero_point,
          .source_scale = source.scale,
          .column_sums = sums_.data() + first,
          .scales = scales_.data() + first,
          .column_zero_points = has_zero_points_ ? zero_points_.data() + first : nullptr,
          .source_sum = source_sum};
}

void pack_bytes(const RecurrentSizes& sizes, const PlainBytes& matrix, std::int8_t* packed) {
  constexpr auto kBlock = static_cast<std::int64_t>(kByteColumns);
  const std::int64_t depth = (matrix.depth + 3) / 4 * 4;
  std::fill_n(packed, sizes.gate_row() * depth, std::int8_t{0});
  for_each_column(sizes, [&](std::int64_t from, std::int64_t to) {
    std::int8_t* column = packed + to / kBlock * kBlock * depth + to % kBlock * 4;
    for (std::int64_t k = 0; k < matrix.depth; ++k)
      column[k / 4 * 4 * kBlock + k % 4] =
          static_cast<std::int8_t>(signed_number(matrix, k * sizes.weight_rows() + from));
  });
}

QuantizedLstm::QuantizedLstm(const RecurrentSizes& of, const PlainBytes& of_input,
                             const PlainBytes& of_recurrent, const float* plain_bias)
    : sizes(of),
      input(of, of_input),
      recurrent(of, of_recurrent),
      bias(packed_bias(of, plain_bias)) {}

std::int64_t QuantizedLstm::workspace_bytes(int threads) const {
  return sizes.rows() * input.padded_depth() +
         threads * std::min(kRecurrentRows, sizes.batch) * sizes.padded();
}

// A thread multiplies the input for its own panels alone, so nobody waits before the first step.
void run_quantized_lstm(const QuantizedLstm& layer, const QuantizedBuffers& buffers,
                        ByteProductFunction product, int threads) {
  QuantizedRun run(layer, buffers, product);
  run.prepare(threads);
  with_own_panels(layer.sizes, threads,
                  [&](std::int64_t first, std::int64_t last, std::int64_t thread) {
                    for (std::int64_t panel = first; panel < last; ++panel)
                      run.multiply_input(panel);
                    for (std::int64_t step = 0; step < layer.sizes.steps; ++step) {
                      run.step(step, first, last, thread);
#pragma omp barrier
                    }
                  });
  run.finish();
}

}  // namespace assay::cpu
