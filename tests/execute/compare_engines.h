// Runs a graph on both engines and says how far apart they are.
#pragma once

#include <string>

#include "assay/program.h"

namespace assay {

struct Difference {
  double largest = 0;  // |fast - reference| over the largest |reference| of its output
  std::string where = "";
  bool same_shapes = true;
  bool same_non_finite = true;  // NaN and infinities at the same elements
};

Difference compare_engines(const Graph& graph, const ProgramOptions& options = {},
                           std::uint64_t seed = 0);
// Expects that nothing falls back on the fast engine, and that its results are near the reference's
// and the same on 1, 2 and 3 threads, to the bit.
void expect_same_on_any_threads(const Graph& graph, const std::vector<Tensor>& inputs);
// Why a step fell back; empty where it had to: a processor without exact products of 8-bit numbers
// leaves products of integers to the kernels.
std::string avoidable_fallback(const StepInfo& step);
Difference compare_results(const std::vector<Tensor>& fast, const std::vector<Tensor>& reference);

}  // namespace assay
