#include "execute/onednn/recurrent.h"

#include <omp.h>

#include <oneapi/dnnl/dnnl.h>
#include <algorithm>

#include "execute/simd/simd.h"

namespace assay::onednn {

namespace {

constexpr auto kUnits = static_cast<std::size_t>(kPanelUnits);
// From this many rows on, a matrix product reads the weights less often than row after row.
constexpr std::int64_t kRowsWorthProduct = 4;

// The row of ONNX's matrix that row `r` of the packed one comes from; -1: padding.
std::int64_t source_row(const RecurrentSizes& sizes, std::int64_t r) {
  const std::int64_t panel = r / sizes.panel_width();
  const std::int64_t gate = r % sizes.panel_width() / kPanelUnits;
  const std::int64_t unit = panel * kPanelUnits + r % kPanelUnits;
  return unit < sizes.hidden ? gate * sizes.hidden + unit : -1;
}

// Whether both biases of a row can be added at once. A GRU that multiplies by its reset gate in
// between keeps those of its last gate apart.
bool adds_at_once(const RecurrentSizes& sizes, std::int64_t r) {
  const bool is_last_gate = r % sizes.panel_width() / kPanelUnits == 2;
  return !(sizes.gates == 3 && sizes.linear_before_reset && is_last_gate);
}

void pack_bias(const RecurrentSizes& sizes, const float* bias, RecurrentWeights& packed) {
  if (bias == nullptr) return;
  const std::int64_t half = sizes.gates * sizes.hidden;
  for (std::int64_t r = 0; r < sizes.gate_row(); ++r) {
    const std::int64_t from = source_row(sizes, r);
    if (from < 0) continue;
    const auto at = static_cast<std::size_t>(r);
    packed.input_bias[at] = bias[from];
    (adds_at_once(sizes, r) ? packed.input_bias : packed.recurrent_bias)[at] += bias[half + from];
  }
}

// The state and scratch of one run, and the work of one panel at one step.
class Run {
 public:
  Run(const RecurrentSizes& sizes, const RecurrentBuffers& buffers) : s_(sizes), b_(buffers) {}

  void prepare() {
    load_state(b_.initial_hidden, b_.hidden);
    if (s_.gates == 4) load_state(b_.initial_cell, b_.cell);
    const std::int64_t rows = s_.steps * s_.batch;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(b_.input_bias, s_.gate_row(), b_.gates + row * s_.gate_row());
    }
    dnnl_sgemm('N', 'T', rows, s_.gate_row(), s_.inputs, 1.0f, b_.source, s_.inputs,
               b_.input_weights, s_.inputs, 1.0f, b_.gates, s_.gate_row());
  }

  std::int64_t time_of(std::int64_t step) const {
    return s_.is_reverse ? s_.steps - 1 - step : step;
  }

  void lstm_panel(std::int64_t step, std::int64_t panel) {
    add_recurrent(gates_at(step, panel), s_.gate_row(), before(step), panel, 0, s_.panel_width());
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      float* gates = gates_at(step, panel) + row * s_.gate_row();
      float* cell = b_.cell + row * s_.padded() + panel * kPanelUnits;
      float* hidden = after(step) + row * s_.padded() + panel * kPanelUnits;
      const SimdKernels& k = simd();
      float* forget = gates + 2 * kPanelUnits;
      float* candidate = gates + 3 * kPanelUnits;
      k.unary(UnaryOp::Sigmoid, 0, 0, gates, gates, 3 * kUnits);
      k.unary(UnaryOp::Tanh, 0, 0, candidate, candidate, kUnits);
      k.binary(BinaryOp::Mul, forget, cell, cell, kUnits);
      k.binary(BinaryOp::Mul, gates, candidate, candidate, kUnits);
      k.binary(BinaryOp::Add, cell, candidate, cell, kUnits);
      k.unary(UnaryOp::Tanh, 0, 0, cell, hidden, kUnits);
      k.binary(BinaryOp::Mul, hidden, gates + kPanelUnits, hidden, kUnits);
    }
    write_output(step, panel);
  }

  // z and r; without linear_before_reset also the gated state r ∘ h, which the others wait for.
  void gru_gates(std::int64_t step, std::int64_t panel) {
    add_recurrent(gates_at(step, panel), s_.gate_row(), before(step), panel, 0, 2 * kPanelUnits);
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      float* gates = gates_at(step, panel) + row * s_.gate_row();
      simd().unary(UnaryOp::Sigmoid, 0, 0, gates, gates, 2 * kUnits);
      const std::int64_t at = row * s_.padded() + panel * kPanelUnits;
      simd().binary(BinaryOp::Mul, gates + kPanelUnits, before(step) + at, b_.cell + at, kUnits);
    }
  }

  void gru_state(std::int64_t step, std::int64_t panel) {
    float* candidates = gates_at(step, panel) + 2 * kPanelUnits;
    if (s_.linear_before_reset) {
      add_reset_product(step, panel);
    } else {
      add_recurrent(candidates, s_.gate_row(), b_.cell, panel, 2 * kPanelUnits, kPanelUnits);
    }
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      float* candidate = candidates + row * s_.gate_row();
      const float* update = candidate - 2 * kPanelUnits;
      const std::int64_t at = row * s_.padded() + panel * kPanelUnits;
      const SimdKernels& k = simd();
      k.unary(UnaryOp::Tanh, 0, 0, candidate, candidate, kUnits);
      // (1 - z) · candidate + z · h = candidate + z · (h - candidate)
      float* hidden = after(step) + at;
      k.binary(BinaryOp::Sub, before(step) + at, candidate, hidden, kUnits);
      k.binary(BinaryOp::Mul, hidden, update, hidden, kUnits);
      k.binary(BinaryOp::Add, hidden, candidate, hidden, kUnits);
    }
    write_output(step, panel);
  }

  void finish() {
    const float* hidden = after(s_.steps - 1);
    if (b_.last_hidden != nullptr) store_state(hidden, b_.last_hidden);
    if (b_.last_cell != nullptr) store_state(b_.cell, b_.last_cell);
  }

 private:
  // The state before and after a step take turns in two halves of one buffer.
  float* state(std::int64_t turn) const { return b_.hidden + turn % 2 * s_.batch * s_.padded(); }
  float* before(std::int64_t step) const { return state(step); }
  float* after(std::int64_t step) const { return state(step + 1); }

  float* gates_at(std::int64_t step, std::int64_t panel) const {
    return b_.gates + time_of(step) * s_.batch * s_.gate_row() + panel * s_.panel_width();
  }

  // out[row] += state[row] · R for `columns` columns of the panel from `first` on.
  void add_recurrent(float* out, std::int64_t out_stride, const float* from, std::int64_t panel,
                     std::int64_t first, std::int64_t columns) const {
    const float* weights = b_.recurrent_weights + panel * s_.hidden * s_.panel_width() + first;
    if (s_.batch >= kRowsWorthProduct) {
      dnnl_sgemm('N', 'N', s_.batch, columns, s_.hidden, 1.0f, from, s_.padded(), weights,
                 s_.panel_width(), 1.0f, out, out_stride);
      return;
    }
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      simd().add_vector_matrix(from + row * s_.padded(), static_cast<std::size_t>(s_.hidden),
                               weights, static_cast<std::size_t>(s_.panel_width()),
                               out + row * out_stride, static_cast<std::size_t>(columns));
    }
  }

  // candidate += r ∘ (h · R + bias)
  void add_reset_product(std::int64_t step, std::int64_t panel) const {
    float product[kPanelUnits];
    const float* bias = b_.recurrent_bias + panel * s_.panel_width() + 2 * kPanelUnits;
    const float* weights =
        b_.recurrent_weights + panel * s_.hidden * s_.panel_width() + 2 * kPanelUnits;
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::copy_n(bias, kPanelUnits, product);
      simd().add_vector_matrix(before(step) + row * s_.padded(),
                               static_cast<std::size_t>(s_.hidden), weights,
                               static_cast<std::size_t>(s_.panel_width()), product, kUnits);
      float* gates = gates_at(step, panel) + row * s_.gate_row();
      simd().binary(BinaryOp::Mul, product, gates + kPanelUnits, product, kUnits);
      simd().binary(BinaryOp::Add, gates + 2 * kPanelUnits, product, gates + 2 * kPanelUnits,
                    kUnits);
    }
  }

  void write_output(std::int64_t step, std::int64_t panel) const {
    if (b_.output == nullptr) return;
    const std::int64_t first = panel * kPanelUnits;
    const std::int64_t count = std::min(kPanelUnits, s_.hidden - first);
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::copy_n(after(step) + row * s_.padded() + first, count,
                  b_.output + time_of(step) * b_.output_step + row * s_.hidden + first);
    }
  }

  void load_state(const float* from, float* to) const {
    std::fill_n(to, s_.batch * s_.padded(), 0.0f);
    if (from == nullptr) return;
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::copy_n(from + row * s_.hidden, s_.hidden, to + row * s_.padded());
    }
  }

  void store_state(const float* from, float* to) const {
    for (std::int64_t row = 0; row < s_.batch; ++row) {
      std::copy_n(from + row * s_.padded(), s_.hidden, to + row * s_.hidden);
    }
  }

  const RecurrentSizes& s_;
  const RecurrentBuffers& b_;
};

// There and back again: what a step used last, the next uses first, while the cache still holds it.
template <typename Work>
void for_each_panel(std::int64_t step, std::int64_t first, std::int64_t last, Work work) {
  for (std::int64_t i = first; i < last; ++i) work(step % 2 == 0 ? i : first + last - 1 - i);
}

// Every thread keeps its panels from step to step, so that their weights stay in its cache; all
// wait for each other after each step.
void run_panels(const RecurrentSizes& sizes, Run& run, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = 0; step < sizes.steps; ++step) {
    if (sizes.gates == 4) {
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.lstm_panel(step, panel); });
    } else {
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.gru_gates(step, panel); });
#pragma omp barrier
      for_each_panel(step, first, last, [&](std::int64_t panel) { run.gru_state(step, panel); });
    }
#pragma omp barrier
  }
}

}  // namespace

RecurrentWeights packed_weights(const RecurrentSizes& sizes, const float* input,
                                const float* recurrent, const float* bias) {
  const auto rows = static_cast<std::size_t>(sizes.gate_row());
  RecurrentWeights packed;
  packed.input.resize(rows * static_cast<std::size_t>(sizes.inputs));
  packed.recurrent.resize(rows * static_cast<std::size_t>(sizes.hidden));
  packed.input_bias.resize(rows);
  packed.recurrent_bias.resize(rows);
  for (std::int64_t r = 0; r < sizes.gate_row(); ++r) {
    const std::int64_t from = source_row(sizes, r);
    if (from < 0) continue;
    std::copy_n(input + from * sizes.inputs, sizes.inputs, packed.input.begin() + r * sizes.inputs);
    const std::int64_t panel = r / sizes.panel_width();
    float* column = packed.recurrent.data() + panel * sizes.hidden * sizes.panel_width() +
                    r % sizes.panel_width();
    for (std::int64_t k = 0; k < sizes.hidden; ++k) {
      column[k * sizes.panel_width()] = recurrent[from * sizes.hidden + k];
    }
  }
  pack_bias(sizes, bias, packed);
  return packed;
}

void run_recurrent(const RecurrentSizes& sizes, const RecurrentBuffers& buffers, int threads) {
  Run run(sizes, buffers);
  run.prepare();
  const auto team = static_cast<int>(std::min<std::int64_t>(threads, sizes.panels()));
  if (team <= 1) {
    run_panels(sizes, run, 0, sizes.panels());
  } else {
#pragma omp parallel num_threads(team)
    {
      const std::int64_t thread = omp_get_thread_num();
      const std::int64_t count = omp_get_num_threads();
      run_panels(sizes, run, sizes.panels() * thread / count,
                 sizes.panels() * (thread + 1) / count);
    }
  }
  run.finish();
}

}  // namespace assay::onednn
