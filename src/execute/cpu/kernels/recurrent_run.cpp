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

void RecurrentRun::keep_states(std::int64_t time, std::int64_t row, std::int64_t panel) const {
  const std::int64_t at = unit_at(row, panel);
  std::copy_n(before(time) + at, kPanelUnits, after(time) + at);
  if (b_.output == nullptr) return;
  std::fill_n(b_.output + time * b_.output_step + row * s_.hidden + panel * kPanelUnits,
              s_.units_in(panel), 0.0f);
}

void RecurrentRun::activate(std::size_t function, float* sums, std::int64_t gates) const {
  const GateFunction& own = s_.form.functions[function];
  const auto count = static_cast<std::size_t>(gates * kPanelUnits);
  const float clip = s_.form.clip;
  if (clip > 0) simd().unary(UnaryOp::Clip, -clip, clip, sums, sums, count);
  simd().unary(own.op, own.alpha, own.beta, sums, sums, count);
}

void RecurrentRun::update_lstm(std::int64_t time, std::int64_t row, std::int64_t panel,
                               float* gates) const {
  const std::int64_t at = unit_at(row, panel);
  const LstmUnits units{.gates = gates,
                        .gate_stride = static_cast<std::size_t>(kPanelUnits),
                        .old_cell = cell(s_.before(time)) + at,
                        .cell = cell(s_.after(time)) + at,
                        .hidden = after(time) + at};
  const RecurrentForm& form = s_.form;
  if (form.has_usual_functions && !form.has_peepholes && !form.couples_forget) {
    simd().lstm_forward(units, static_cast<std::size_t>(kPanelUnits));
  } else {
    update_unusual_lstm(gates, units, panel);
  }
}

void RecurrentRun::add_peephole(std::int64_t which, std::int64_t panel, const float* cell,
                                float* sums) const {
  if (b_.peepholes == nullptr) return;
  const float* weights = b_.peepholes + which * s_.hidden + panel * kPanelUnits;
  for (std::int64_t unit = 0; unit < s_.units_in(panel); ++unit)
    sums[unit] += weights[unit] * cell[unit];
}

void RecurrentRun::update_unusual_lstm(float* gates, const LstmUnits& units,
                                       std::int64_t panel) const {
  float* input = gates;
  float* output = gates + kPanelUnits;
  float* forget = gates + 2 * kPanelUnits;
  float* candidate = gates + 3 * kPanelUnits;
  add_peephole(0, panel, units.old_cell, input);
  add_peephole(2, panel, units.old_cell, forget);
  activate(0, input);
  activate(0, forget);
  activate(1, candidate);
  for (std::int64_t unit = 0; unit < kPanelUnits; ++unit) {
    const float kept = s_.form.couples_forget ? 1 - input[unit] : forget[unit];
    units.cell[unit] = kept * units.old_cell[unit] + input[unit] * candidate[unit];
    units.hidden[unit] = units.cell[unit];
  }
  add_peephole(1, panel, units.cell, output);
  activate(0, output);
  activate(2, units.hidden);
  simd().binary(BinaryOp::Mul, units.hidden, output, units.hidden,
                static_cast<std::size_t>(kPanelUnits));
}

void RecurrentRun::write_output(std::int64_t time, std::int64_t row, std::int64_t panel) const {
  if (b_.output == nullptr) return;
  std::copy_n(after(time) + unit_at(row, panel), s_.units_in(panel),
              b_.output + time * b_.output_step + row * s_.hidden + panel * kPanelUnits);
}

}  // namespace assay::cpu
