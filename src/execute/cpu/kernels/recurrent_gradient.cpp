#include "execute/cpu/kernels/recurrent_gradient.h"

#include "execute/cpu/kernels/recurrent_run.h"
#include "execute/cpu/kernels/row_products.h"
#include "execute/cpu/onednn/sgemm.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Deltas of one step and sequence, gate by gate in ONNX's order. A GRU with linear_before_reset has
// two for its candidates: that for the recurrent weights, then that for the input weights.
std::int64_t delta_row(const RecurrentSizes& sizes) {
  return (sizes.linear_before_reset ? 4 : sizes.gates) * sizes.hidden;
}

std::int64_t delta_floats(const RecurrentSizes& sizes) {
  return sizes.rows() * delta_row(sizes);
}

std::int64_t packed_floats(const RecurrentSizes& sizes) {
  return are_worth_panels(sizes.batch) ? sizes.weight_rows() * sizes.padded() : 0;
}

// What the workspace is divided into.
struct Workspace {
  Workspace(const RecurrentSizes& sizes, float* start)
      : deltas(start),
        packed(deltas + delta_floats(sizes)),
        hidden(packed + packed_floats(sizes)),
        cell(hidden + sizes.state_floats()) {}

  float* deltas;  // [steps·batch, delta_row]
  float* packed;  // the recurrent weights, [padded / panel_width][weight_rows][panel_width]
  float* hidden;  // [batch, padded]: gradient of the state
  float* cell;    // [batch, padded]; of a GRU: of the state behind its reset gate
};

class BackwardPass {
 public:
  BackwardPass(const RecurrentSizes& sizes, const RecurrentGradientBuffers& buffers, int threads)
      : s_(sizes), b_(buffers), at_(sizes, buffers.workspace), threads_(threads) {}

  void prepare() {
    load_state(s_, b_.last_hidden, at_.hidden);
    load_state(s_, b_.last_cell, at_.cell);
    if (are_worth_panels(s_.batch)) pack_recurrent_weights();
  }

  void deltas_of(std::int64_t time, std::int64_t panel) {
    const auto count = static_cast<std::size_t>(s_.units_in(panel));
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      if (s_.is_lstm()) {
        simd().lstm_backward(lstm_units(time, row, panel), count);
      } else {
        simd().gru_backward(gru_units(time, row, panel), count);
      }
    }
  }

  // A reset gate that acts on the state, after the candidates of all panels.
  void reset_gates(std::int64_t time, std::int64_t first, std::int64_t last) {
    clear(at_.cell, first, last);
    add_recurrent(time, 2 * s_.hidden, s_.hidden, at_.cell, first, last);
    for (std::int64_t panel = first; panel < last; ++panel) {
      for (std::int64_t row = 0; row < s_.batch; ++row) {
        simd().gru_reset_backward(gru_units(time, row, panel), at_.cell + s_.unit_at(row, panel),
                                  static_cast<std::size_t>(s_.units_in(panel)));
      }
    }
  }

  // What the deltas of the first `gates` gates hand on to the state before the step.
  void to_old_state(std::int64_t time, std::int64_t gates, std::int64_t first, std::int64_t last) {
    add_recurrent(time, 0, gates * s_.hidden, at_.hidden, first, last);
  }

  void finish() {
    if (b_.by_initial_hidden != nullptr) store_state(s_, at_.hidden, b_.by_initial_hidden);
    if (b_.by_initial_cell != nullptr) store_state(s_, at_.cell, b_.by_initial_cell);
    if (b_.by_source != nullptr) source_gradient();
    if (b_.by_input_weights != nullptr) input_weight_gradient();
    if (b_.by_recurrent_weights != nullptr) recurrent_weight_gradient();
    if (b_.by_bias != nullptr) bias_gradient();
  }

 private:
  const float* output_at(std::int64_t time, std::int64_t row, std::int64_t panel) const {
    if (b_.output == nullptr) return nullptr;
    return b_.output + time * b_.output_step + row * s_.hidden + panel * kPanelUnits;
  }
  float* deltas_at(std::int64_t time, std::int64_t row) const {
    return at_.deltas + (time * s_.batch + row) * delta_row(s_);
  }

  LstmUnitsBackward lstm_units(std::int64_t time, std::int64_t row, std::int64_t panel) const {
    const std::int64_t unit = s_.unit_at(row, panel);
    return {.gates = b_.gates + s_.gates_at(time, row, panel),
            .gate_stride = static_cast<std::size_t>(kPanelUnits),
            .old_cell = b_.cell + s_.before(time) * s_.state_floats() + unit,
            .cell = b_.cell + s_.after(time) * s_.state_floats() + unit,
            .output_gradient = output_at(time, row, panel),
            .hidden_gradient = at_.hidden + unit,
            .cell_gradient = at_.cell + unit,
            .deltas = deltas_at(time, row) + panel * kPanelUnits,
            .delta_stride = static_cast<std::size_t>(s_.hidden)};
  }

  GruUnitsBackward gru_units(std::int64_t time, std::int64_t row, std::int64_t panel) const {
    const std::int64_t unit = s_.unit_at(row, panel);
    const float* recurrent = b_.cell + time * s_.state_floats() + unit;
    return {.gates = b_.gates + s_.gates_at(time, row, panel),
            .gate_stride = static_cast<std::size_t>(kPanelUnits),
            .old_hidden = b_.hidden + s_.before(time) * s_.state_floats() + unit,
            .recurrent = s_.linear_before_reset ? recurrent : nullptr,
            .output_gradient = output_at(time, row, panel),
            .hidden_gradient = at_.hidden + unit,
            .deltas = deltas_at(time, row) + panel * kPanelUnits,
            .delta_stride = static_cast<std::size_t>(s_.hidden)};
  }

  // state[row] += deltas · R for the units of some panels, by `depth` rows of R from `start` on,
  // which are those of the deltas there.
  void add_recurrent(std::int64_t time, std::int64_t start, std::int64_t depth, float* state,
                     std::int64_t first, std::int64_t last) const {
    const std::int64_t unit = first * kPanelUnits;
    const float* deltas = deltas_at(time, 0) + start;
    if (are_worth_panels(s_.batch)) {
      const auto width = static_cast<std::int64_t>(simd().panel_width);
      const float* panels = at_.packed + unit * s_.weight_rows() + start * width;
      add_panel_products({deltas, s_.batch, delta_row(s_)}, panels, s_.weight_rows(), depth,
                         (last - first) * kPanelUnits, state + unit, s_.padded());
      return;
    }
    const std::int64_t units = std::min(s_.hidden, last * kPanelUnits) - unit;
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      simd().add_vector_matrix(deltas + row * delta_row(s_), static_cast<std::size_t>(depth),
                               b_.weights.recurrent + start * s_.hidden + unit,
                               static_cast<std::size_t>(s_.hidden),
                               state + row * s_.padded() + unit, static_cast<std::size_t>(units));
    }
  }

  void pack_recurrent_weights() const {
    const auto width = static_cast<std::int64_t>(simd().panel_width);
    execute::in_parallel(threads_, s_.padded() / width, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t panel = first; panel < last; ++panel) {
        const std::int64_t column = panel * width;
        const std::int64_t count = std::clamp<std::int64_t>(s_.hidden - column, 0, width);
        float* to = at_.packed + column * s_.weight_rows();
        for (std::int64_t row = 0; row < s_.weight_rows(); ++row, to += width) {
          if (count > 0) std::copy_n(b_.weights.recurrent + row * s_.hidden + column, count, to);
          std::fill(to + count, to + width, 0.0f);
        }
      }
    });
  }

  void source_gradient() const {
    const float* weights = b_.weights.input;
    const auto add = [&](std::int64_t column, std::int64_t row, std::int64_t count, bool adds) {
      sgemm({s_.rows(), s_.inputs, count}, {at_.deltas + column, delta_row(s_)},
            {weights + row * s_.inputs, s_.inputs}, b_.by_source, s_.inputs, 1, adds ? 1 : 0);
    };
    if (!s_.linear_before_reset) return add(0, 0, s_.weight_rows(), b_.adds_to_source);
    add(0, 0, 2 * s_.hidden, b_.adds_to_source);
    add(3 * s_.hidden, 2 * s_.hidden, s_.hidden, true);
  }

  // deltasᵀ · operands for `count` gates' deltas from `column` on.
  void multiply(std::int64_t column, std::int64_t count, const float* operands, std::int64_t width,
                std::int64_t stride, float* to) const {
    sgemm({count, width, s_.rows()}, {at_.deltas + column, delta_row(s_), /*is_transposed=*/true},
          {operands, stride}, to, width);
  }

  void input_weight_gradient() const {
    const auto rows = [&](std::int64_t column, std::int64_t row, std::int64_t count) {
      multiply(column, count, b_.source, s_.inputs, s_.inputs,
               b_.by_input_weights + row * s_.inputs);
    };
    if (!s_.linear_before_reset) return rows(0, 0, s_.weight_rows());
    rows(0, 0, 2 * s_.hidden);
    rows(3 * s_.hidden, 2 * s_.hidden, s_.hidden);
  }

  void recurrent_weight_gradient() const {
    const float* old_states = b_.hidden + s_.before(0) * s_.state_floats();
    const auto rows = [&](std::int64_t row, std::int64_t count, const float* states) {
      multiply(row, count, states, s_.hidden, s_.padded(),
               b_.by_recurrent_weights + row * s_.hidden);
    };
    if (!s_.resets_state()) return rows(0, s_.weight_rows(), old_states);
    rows(0, 2 * s_.hidden, old_states);
    rows(2 * s_.hidden, s_.hidden, b_.cell);
  }

  // Both biases' gradients are sums of the deltas.
  void bias_gradient() const {
    float* of_input = b_.by_bias;
    float* of_recurrent = of_input + s_.weight_rows();
    sum_deltas(0, s_.weight_rows(), of_recurrent);
    std::copy_n(of_recurrent, s_.weight_rows(), of_input);
    if (s_.linear_before_reset) sum_deltas(3 * s_.hidden, s_.hidden, of_input + 2 * s_.hidden);
  }

  // A piece of columns at a time.
  void sum_deltas(std::int64_t column, std::int64_t count, float* to) const {
    constexpr std::int64_t kPiece = 64;
    execute::in_parallel(threads_, (count + kPiece - 1) / kPiece,
                         [&](std::int64_t first, std::int64_t last) {
                           for (std::int64_t piece = first; piece < last; ++piece) {
                             const std::int64_t begin = piece * kPiece;
                             const std::int64_t width = std::min(kPiece, count - begin);
                             const NormRows rows{static_cast<std::size_t>(s_.rows()),
                                                 static_cast<std::size_t>(delta_row(s_)),
                                                 static_cast<std::size_t>(width)};
                             double sums[kPiece] = {};
                             simd().column_sums(rows, at_.deltas + column + begin, sums);
                             for (std::int64_t i = 0; i < width; ++i)
                               to[begin + i] = static_cast<float>(sums[i]);
                           }
                         });
  }

  void clear(float* state, std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::fill(state + s_.unit_at(row, first), state + s_.unit_at(row, last), 0.0f);
    }
  }

  const RecurrentSizes& s_;
  const RecurrentGradientBuffers& b_;
  const Workspace at_;
  int threads_ = 1;
};

// Every thread keeps its panels: it finds their deltas, waits for those of the others, and takes
// from all of them what reaches its own units.
void run_panels_backward(const RecurrentSizes& sizes, BackwardPass& backward,
                         bool wants_initial_state, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = sizes.steps; step-- > 0;) {
    const std::int64_t time = sizes.time_of(step);
    for (std::int64_t panel = first; panel < last; ++panel) backward.deltas_of(time, panel);
#pragma omp barrier
    if (sizes.resets_state()) {
      backward.reset_gates(time, first, last);
#pragma omp barrier
    }
    if (step > 0 || wants_initial_state) {
      backward.to_old_state(time, sizes.resets_state() ? 2 : sizes.gates, first, last);
    }
  }
}

}  // namespace

std::int64_t gradient_workspace_floats(const RecurrentSizes& sizes) {
  return delta_floats(sizes) + packed_floats(sizes) + 2 * sizes.state_floats();
}

void run_recurrent_gradient(const RecurrentSizes& sizes, const RecurrentGradientBuffers& buffers,
                            int threads) {
  BackwardPass backward(sizes, buffers, threads);
  backward.prepare();
  with_own_panels(sizes, threads, [&](std::int64_t first, std::int64_t last, std::int64_t) {
    run_panels_backward(sizes, backward, buffers.by_initial_hidden != nullptr, first, last);
  });
  backward.finish();
}

}  // namespace assay::cpu
