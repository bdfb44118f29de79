#include "execute/cpu/kernels/recurrent.h"

#include <vector>

#include "execute/cpu/kernels/recurrent_run.h"
#include "execute/cpu/kernels/row_products.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

constexpr auto kUnits = static_cast<std::size_t>(kPanelUnits);

// Columns of the recurrent weights that lie together: as the panel product wants them, or a whole
// panel of units.
std::int64_t packed_columns(const RecurrentSizes& sizes) {
  return are_worth_panels(sizes.batch) ? static_cast<std::int64_t>(simd().panel_width)
                                       : sizes.panel_width();
}

// Where the parts of packed weights begin, if matrices are floats. Rows of a panel lie together:
// gate by gate, 32 units each; those of units that there are not are zero.
template <typename Float>
struct PackedParts {
  PackedParts(const RecurrentSizes& sizes, Float* packed)
      : input(packed),
        recurrent(input + sizes.gate_row() * sizes.inputs),
        input_bias(packed + sizes.packed_floats() - 2 * sizes.gate_row()),
        recurrent_bias(input_bias + sizes.gate_row()) {}

  Float* input;           // [gate_row / panel_width][inputs][panel_width], as panel products want
  Float* recurrent;       // [gate_row / packed_columns][hidden][packed_columns]
  Float* input_bias;      // [gate_row]; holds both biases wherever they just add up
  Float* recurrent_bias;  // [gate_row]
};

// Rows of a matrix of `depth` columns become columns of panels.
void pack_rows(const GateRows& rows, const float* from, std::int64_t depth, std::int64_t width,
               float* to) {
  for (std::int64_t row = 0; row < rows.count;) {
    const std::int64_t column = (rows.to + row) % width;
    const std::int64_t count = std::min(rows.count - row, width - column);
    simd().transpose(from + (rows.from + row) * depth, static_cast<std::size_t>(depth),
                     to + (rows.to + row - column) * depth + column,
                     static_cast<std::size_t>(width), static_cast<std::size_t>(count),
                     static_cast<std::size_t>(depth));
    row += count;
  }
}

void pack_gate(const RecurrentSizes& sizes, const GateRows& rows, const PlainWeights& weights,
               const PackedParts<float>& packed) {
  pack_rows(rows, weights.input, sizes.inputs, static_cast<std::int64_t>(simd().panel_width),
            packed.input);
  pack_rows(rows, weights.recurrent, sizes.hidden, packed_columns(sizes), packed.recurrent);
  if (weights.bias != nullptr)
    pack_bias(sizes, rows, weights.bias, packed.input_bias, packed.recurrent_bias);
}

// A run with weights of floats, and the work of one panel at one time.
class Run : public RecurrentRun {
 public:
  Run(const RecurrentSizes& sizes, const float* weights, const RecurrentBuffers& buffers)
      : RecurrentRun(sizes, buffers), w_(sizes, weights) {}

  void prepare(int threads) {
    load_states();
    for (std::int64_t row = 0; row < s_.rows(); ++row) {
      std::copy_n(w_.input_bias, s_.gate_row(), b_.gates + row * s_.gate_row());
    }
    if (s_.weights) return add_input_halves(threads);
    const auto width = static_cast<std::int64_t>(simd().panel_width);
    execute::in_parallel(
        threads, s_.gate_row() / width,
        [&](std::int64_t first, std::int64_t last) { add_inputs(first * width, last * width); });
  }

  void lstm_panel(std::int64_t time, std::int64_t panel) {
    add_recurrent(gates_at(time, panel), s_.gate_row(), before(time), panel, 0, s_.panel_width());
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      if (has_ended(time, row)) {
        keep_states(time, row, panel);
        continue;
      }
      update_lstm(time, row, panel, gates_at(time, panel) + row * s_.gate_row());
      write_output(time, row, panel);
    }
  }

  void rnn_panel(std::int64_t time, std::int64_t panel) {
    add_recurrent(gates_at(time, panel), s_.gate_row(), before(time), panel, 0, s_.panel_width());
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      if (has_ended(time, row)) {
        keep_states(time, row, panel);
        continue;
      }
      float* sums = gates_at(time, panel) + row * s_.gate_row();
      activate(0, sums);
      std::copy_n(sums, kPanelUnits, after(time) + unit_at(row, panel));
      write_output(time, row, panel);
    }
  }

  // z and r, and what r acts on: with linear_before_reset the product h · R + bias, else the state,
  // for which the candidates of all panels wait.
  void gru_gates(std::int64_t time, std::int64_t panel) {
    add_recurrent(gates_at(time, panel), s_.gate_row(), before(time), panel, 0, 2 * kPanelUnits);
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      float* gates = gates_at(time, panel) + row * s_.gate_row();
      activate(0, gates, 2);
    }
    if (s_.linear_before_reset) {
      multiply_before_reset(time, panel);
    } else {
      reset_state(time, panel);
    }
  }

  void gru_state(std::int64_t time, std::int64_t panel) {
    float* candidates = gates_at(time, panel) + 2 * kPanelUnits;
    if (s_.linear_before_reset) {
      add_reset_product(time, panel);
    } else {
      add_recurrent(candidates, s_.gate_row(), cell(time), panel, 2 * kPanelUnits, kPanelUnits);
    }
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      if (has_ended(time, row)) {
        keep_states(time, row, panel);
        continue;
      }
      float* candidate = candidates + row * s_.gate_row();
      const float* update = candidate - 2 * kPanelUnits;
      const SimdKernels& k = simd();
      activate(1, candidate);
      // (1 - z) · candidate + z · h = candidate + z · (h - candidate)
      float* hidden = after(time) + unit_at(row, panel);
      k.binary(BinaryOp::Sub, before(time) + unit_at(row, panel), candidate, hidden, kUnits);
      k.binary(BinaryOp::Mul, hidden, update, hidden, kUnits);
      k.binary(BinaryOp::Add, hidden, candidate, hidden, kUnits);
      write_output(time, row, panel);
    }
  }

 private:
  // The products of all times' inputs, for these columns of the gates.
  void add_inputs(std::int64_t first, std::int64_t last) const {
    const float* panels = w_.input + first * s_.inputs;
    if (are_worth_panels(s_.rows()))
      return add_panel_products({b_.source, s_.rows(), s_.inputs}, panels, s_.inputs, s_.inputs,
                                last - first, b_.gates + first, s_.gate_row());
    const auto width = static_cast<std::int64_t>(simd().panel_width);
    for (std::int64_t column = first; column < last; column += width) {
      for (std::int64_t row = 0; row < s_.rows(); ++row)
        simd().add_vector_matrix(b_.source + row * s_.inputs, static_cast<std::size_t>(s_.inputs),
                                 w_.input + column * s_.inputs, simd().panel_width,
                                 b_.gates + row * s_.gate_row() + column, simd().panel_width);
    }
  }

  // out[row] += state[row] · R for `columns` columns of the panel from `first` on.
  void add_recurrent(float* out, std::int64_t out_stride, const float* from, std::int64_t panel,
                     std::int64_t first, std::int64_t columns) const {
    if (s_.weights) return add_recurrent_halves(out, out_stride, from, panel, first, columns);
    if (are_worth_panels(s_.batch)) {
      const float* panels = w_.recurrent + (panel * s_.panel_width() + first) * s_.hidden;
      add_panel_products({from, s_.batch, s_.padded()}, panels, s_.hidden, s_.hidden, columns, out,
                         out_stride);
      return;
    }
    const float* weights = w_.recurrent + panel * s_.hidden * s_.panel_width() + first;
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      simd().add_vector_matrix(from + row * s_.padded(), static_cast<std::size_t>(s_.hidden),
                               weights, static_cast<std::size_t>(s_.panel_width()),
                               out + row * out_stride, static_cast<std::size_t>(columns));
    }
  }

  const std::uint16_t* halves() const { return reinterpret_cast<const std::uint16_t*>(w_.input); }

  void add_halves(const RowsOf& rows, const std::uint16_t* panel, std::int64_t depth, float* out,
                  std::int64_t out_stride) const {
    simd().product_of_halves(
        *s_.weights, rows.first, static_cast<std::size_t>(rows.count),
        static_cast<std::size_t>(rows.stride), panel, static_cast<std::size_t>(depth), out,
        static_cast<std::size_t>(out_stride), /*continues=*/true,
        {reinterpret_cast<const float*>(panel), static_cast<std::size_t>(depth)});
  }

  void add_input_halves(int threads) const {
    const auto width = static_cast<std::int64_t>(simd().panel_width);
    execute::in_parallel(
        threads, s_.gate_row() / width, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t panel = first; panel < last; ++panel)
            add_halves({b_.source, s_.rows(), s_.inputs}, halves() + panel * width * s_.inputs,
                       s_.inputs, b_.gates + panel * width, s_.gate_row());
        });
  }

  void add_recurrent_halves(float* out, std::int64_t out_stride, const float* from,
                            std::int64_t panel, std::int64_t first, std::int64_t columns) const {
    const std::uint16_t* recurrent = halves() + s_.gate_row() * s_.inputs;
    if (are_worth_panels(s_.batch)) {
      const auto width = static_cast<std::int64_t>(simd().panel_width);
      for (std::int64_t column = first; column < first + columns; column += width)
        add_halves({from, s_.batch, s_.padded()},
                   recurrent + (panel * s_.panel_width() + column) * s_.hidden, s_.hidden,
                   out + column - first, out_stride);
      return;
    }
    const std::uint16_t* weights = recurrent + panel * s_.hidden * s_.panel_width() + first;
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      simd().add_vector_halves(*s_.weights, from + row * s_.padded(),
                               static_cast<std::size_t>(s_.hidden), weights,
                               static_cast<std::size_t>(s_.panel_width()), out + row * out_stride,
                               static_cast<std::size_t>(columns));
    }
  }

  void multiply_before_reset(std::int64_t time, std::int64_t panel) const {
    const float* bias = w_.recurrent_bias + panel * s_.panel_width() + 2 * kPanelUnits;
    float* products = cell(time) + unit_at(0, panel);
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::copy_n(bias, kPanelUnits, products + row * s_.padded());
    }
    add_recurrent(products, s_.padded(), before(time), panel, 2 * kPanelUnits, kPanelUnits);
  }

  void reset_state(std::int64_t time, std::int64_t panel) const {
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      const float* reset = gates_at(time, panel) + row * s_.gate_row() + kPanelUnits;
      const std::int64_t at = unit_at(row, panel);
      simd().binary(BinaryOp::Mul, reset, before(time) + at, cell(time) + at, kUnits);
    }
  }

  // candidate += r ∘ product
  void add_reset_product(std::int64_t time, std::int64_t panel) const {
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      const float* reset = gates_at(time, panel) + row * s_.gate_row() + kPanelUnits;
      float* candidate = gates_at(time, panel) + row * s_.gate_row() + 2 * kPanelUnits;
      float product[kUnits];
      simd().binary(BinaryOp::Mul, cell(time) + unit_at(row, panel), reset, product, kUnits);
      simd().binary(BinaryOp::Add, candidate, product, candidate, kUnits);
    }
  }

  const PackedParts<const float> w_;
};

// Every thread keeps its panels from step to step, so that their weights stay in its cache; all
// wait for each other after each step.
void run_panels(const RecurrentSizes& sizes, Run& run, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = 0; step < sizes.steps; ++step) {
    const std::int64_t time = sizes.time_of(step);
    if (sizes.is_lstm()) {
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.lstm_panel(time, panel); });
    } else if (sizes.gates == 1) {
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.rnn_panel(time, panel); });
    } else if (sizes.linear_before_reset) {
      for_each_panel(step, first, last, [&](std::int64_t panel) {
        run.gru_gates(time, panel);
        run.gru_state(time, panel);
      });
    } else {
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.gru_gates(time, panel); });
#pragma omp barrier
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.gru_state(time, panel); });
    }
#pragma omp barrier
  }
}

}  // namespace

PlainWeights direction_of(const RecurrentSizes& sizes, std::int64_t direction,
                          const PlainWeights& all) {
  const std::int64_t row = direction * sizes.weight_rows();
  return {all.input + row * sizes.inputs, all.recurrent + row * sizes.hidden,
          all.bias == nullptr ? nullptr : all.bias + 2 * row};
}

namespace {

void pack_halves(RecurrentSizes sizes, const PlainWeights& weights, float* packed, int threads) {
  const HalfFormat format = *sizes.weights;
  const PackedParts<float> parts(sizes, packed);
  auto* halves = reinterpret_cast<std::uint16_t*>(packed);
  sizes.weights.reset();
  std::vector<float> floats(static_cast<std::size_t>(sizes.packed_floats()));
  pack_weights(sizes, weights, floats.data(), threads);
  const PackedParts<float> wide(sizes, floats.data());
  simd().narrow(format, wide.input, halves,
                static_cast<std::size_t>(sizes.gate_row() * (sizes.inputs + sizes.hidden)));
  std::copy_n(wide.input_bias, 2 * sizes.gate_row(), parts.input_bias);
}

}  // namespace

void pack_weights(const RecurrentSizes& sizes, const PlainWeights& weights, float* packed,
                  int threads) {
  if (sizes.weights) return pack_halves(sizes, weights, packed, threads);
  const PackedParts<float> parts(sizes, packed);
  const bool has_padding = sizes.padded() != sizes.hidden;
  float* first_zero = has_padding ? packed : parts.input_bias;
  std::fill(first_zero, packed + sizes.packed_floats(), 0.0f);
  execute::in_parallel(threads, sizes.panels(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t panel = first; panel < last; ++panel) {
      for (std::int64_t gate = 0; gate < sizes.gates; ++gate) {
        pack_gate(sizes, gate_rows(sizes, panel, gate), weights, parts);
      }
    }
  });
}

void load_state(const RecurrentSizes& sizes, const float* from, float* to) {
  std::fill_n(to, sizes.state_floats(), 0.0f);
  if (from == nullptr) return;
  for (std::int64_t row = 0; row < sizes.batch; ++row) {
    std::copy_n(from + row * sizes.hidden, sizes.hidden, to + row * sizes.padded());
  }
}

void store_state(const RecurrentSizes& sizes, const float* from, float* to) {
  for (std::int64_t row = 0; row < sizes.batch; ++row) {
    std::copy_n(from + row * sizes.padded(), sizes.hidden, to + row * sizes.hidden);
  }
}

namespace {

// Up to where the longest sequence goes; nothing behind it is computed.
RecurrentSizes up_to_the_longest(RecurrentSizes sizes, const RecurrentBuffers& buffers) {
  if (buffers.lengths != nullptr)
    sizes.steps = *std::max_element(buffers.lengths, buffers.lengths + sizes.batch);
  return sizes;
}

void clear_outputs(const RecurrentSizes& sizes, const RecurrentBuffers& buffers,
                   std::int64_t first) {
  for (std::int64_t time = first; buffers.output != nullptr && time < sizes.steps; ++time)
    std::fill_n(buffers.output + time * buffers.output_step, sizes.batch * sizes.hidden, 0.0f);
}

void copy_or_clear(const float* from, float* to, std::int64_t count) {
  if (to == nullptr) return;
  if (from == nullptr) {
    std::fill_n(to, count, 0.0f);
  } else {
    std::copy_n(from, count, to);
  }
}

}  // namespace

void run_recurrent(const RecurrentSizes& sizes, const float* packed_weights,
                   const RecurrentBuffers& buffers, int threads) {
  const RecurrentSizes live = up_to_the_longest(sizes, buffers);
  clear_outputs(sizes, buffers, live.steps);
  if (live.steps == 0) {
    copy_or_clear(buffers.initial_hidden, buffers.last_hidden, live.batch * live.hidden);
    copy_or_clear(buffers.initial_cell, buffers.last_cell, live.batch * live.hidden);
    return;
  }
  Run run(live, packed_weights, buffers);
  run.prepare(threads);
  with_own_panels(live, threads, [&](std::int64_t first, std::int64_t last, std::int64_t) {
    run_panels(live, run, first, last);
  });
  run.finish();
}

}  // namespace assay::cpu
