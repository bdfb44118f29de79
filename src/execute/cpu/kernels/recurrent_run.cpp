#include "execute/cpu/kernels/recurrent_run.h"

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

// A GRU that multiplies by its reset gate in between keeps the biases of its last gate apart.
GateRows gate_rows(const RecurrentSizes& sizes, std::int64_t panel, std::int64_t gate) {
  return {.from = gate * sizes.hidden + panel * kPanelUnits,
          .to = panel * sizes.panel_width() + gate * kPanelUnits,
          .count = sizes.units_in(panel),
          .adds_biases_at_once = !(sizes.linear_before_reset && gate == 2)};
}

void pack_bias(const RecurrentSizes& sizes, const GateRows& rows, const float* bias,
               float* of_input, float* of_recurrent) {
  const float* input = bias + rows.from;
  const float* recurrent = input + sizes.weight_rows();
  float* together = of_input + rows.to;
  std::copy_n(input, rows.count, together);
  if (!rows.adds_biases_at_once) {
    std::copy_n(recurrent, rows.count, of_recurrent + rows.to);
    return;
  }
  simd().binary(BinaryOp::Add, together, recurrent, together, static_cast<std::size_t>(rows.count));
}

void RecurrentRun::load_states() {
  const std::int64_t first = s_.time_of(0);
  load_state(s_, b_.initial_hidden, before(first));
  if (s_.is_lstm()) load_state(s_, b_.initial_cell, cell(s_.before(first)));
}

void RecurrentRun::finish() {
  const std::int64_t last = s_.time_of(s_.steps - 1);
  if (b_.last_hidden != nullptr) store_state(s_, after(last), b_.last_hidden);
  if (b_.last_cell != nullptr) store_state(s_, cell(s_.after(last)), b_.last_cell);
}

void RecurrentRun::update_lstm(std::int64_t time, std::int64_t row, std::int64_t panel,
                               float* gates) const {
  const std::int64_t at = unit_at(row, panel);
  simd().lstm_forward({.gates = gates,
                       .gate_stride = static_cast<std::size_t>(kPanelUnits),
                       .old_cell = cell(s_.before(time)) + at,
                       .cell = cell(s_.after(time)) + at,
                       .hidden = after(time) + at},
                      static_cast<std::size_t>(kPanelUnits));
}

void RecurrentRun::write_output(std::int64_t time, std::int64_t row, std::int64_t panel) const {
  if (b_.output == nullptr) return;
  std::copy_n(after(time) + unit_at(row, panel), s_.units_in(panel),
              b_.output + time * b_.output_step + row * s_.hidden + panel * kPanelUnits);
}

}  // namespace assay::cpu
