// What recurrent layers with float and with 8-bit weights share: where gates and states are stored,
// how weights are divided into panels, and what is computed after the products.
#pragma once

#include <omp.h>

#include "execute/cpu/kernels/recurrent.h"

namespace assay::cpu {

// Rows of one gate in one panel: where they come from in ONNX's matrices, and where they go.
struct GateRows {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count = 0;
  bool adds_biases_at_once = true;
};
GateRows gate_rows(const RecurrentSizes& sizes, std::int64_t panel, std::int64_t gate);

// From B of one direction. `of_recurrent` gets what is not added at once, which no LSTM has.
void pack_bias(const RecurrentSizes& sizes, const GateRows& rows, const float* bias,
               float* of_input, float* of_recurrent);

// Calls `work(first, last, thread)` for each thread's own panels. Threads that wait for each other
// inside meet at a barrier of OpenMP's.
template <typename Work>
void with_own_panels(const RecurrentSizes& sizes, int threads, const Work& work) {
  const auto team = static_cast<int>(std::min<std::int64_t>(threads, sizes.panels()));
  if (team <= 1) return work(std::int64_t{0}, sizes.panels(), std::int64_t{0});
#pragma omp parallel num_threads(team)
  {
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t count = omp_get_num_threads();
    work(sizes.panels() * thread / count, sizes.panels() * (thread + 1) / count, thread);
  }
}

// There and back again: what a step used last, the next uses first, while the cache still holds it.
template <typename Work>
void for_each_panel(std::int64_t step, std::int64_t first, std::int64_t last, Work work) {
  for (std::int64_t i = first; i < last; ++i) work(step % 2 == 0 ? i : first + last - 1 - i);
}

// The states of one run.
class RecurrentRun {
 public:
  RecurrentRun(const RecurrentSizes& sizes, const RecurrentBuffers& buffers)
      : s_(sizes), b_(buffers) {}

  void load_states();
  void finish();  // stores the last states

 protected:
  float* hidden(std::int64_t place) const {
    return b_.hidden + place % s_.hidden_places() * s_.state_floats();
  }
  float* cell(std::int64_t place) const {
    return b_.cell + place % s_.cell_places() * s_.state_floats();
  }
  float* before(std::int64_t time) const { return hidden(s_.before(time)); }
  float* after(std::int64_t time) const { return hidden(s_.after(time)); }

  std::int64_t unit_at(std::int64_t row, std::int64_t panel) const {
    return s_.unit_at(row, panel);
  }
  float* gates_at(std::int64_t time, std::int64_t panel) const {
    return b_.gates + s_.gates_at(time, 0, panel);
  }

  // Sequences that have ended keep their states, and their results are zero.
  bool has_ended(std::int64_t time, std::int64_t row) const {
    return b_.lengths != nullptr && time >= b_.lengths[row];
  }
  void keep_states(std::int64_t time, std::int64_t row, std::int64_t panel) const;

  // From the sums of a panel's gates, which go through their activations, to the new states.
  void update_lstm(std::int64_t time, std::int64_t row, std::int64_t panel, float* gates) const;
  // The activation of one panel's units, of `gates` gates side by side.
  void activate(std::size_t function, float* sums, std::int64_t gates = 1) const;
  void write_output(std::int64_t time, std::int64_t row, std::int64_t panel) const;

  const RecurrentSizes& s_;
  const RecurrentBuffers& b_;

 private:
  void update_unusual_lstm(float* gates, const LstmUnits& units, std::int64_t panel) const;
  void add_peephole(std::int64_t which, std::int64_t panel, const float* cell, float* sums) const;
};

}  // namespace assay::cpu
