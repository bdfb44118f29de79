#include "execute/compare_engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "execute/cpu/onednn/instruction_sets.h"

namespace assay {

namespace {

// Outputs that cancel to almost nothing are judged as if they were this large.
constexpr double kSmallestScale = 0.01;

void compare_numbers(const std::vector<double>& fast, const std::vector<double>& reference,
                     const std::string& where, Difference& difference) {
  double scale = 0;
  for (const double number : reference) {
    if (std::isfinite(number)) scale = std::max(scale, std::abs(number));
  }
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!std::isfinite(reference[i]) || !std::isfinite(fast[i])) {
      const bool both_nan = std::isnan(reference[i]) && std::isnan(fast[i]);
      if (!both_nan && reference[i] != fast[i]) difference.same_non_finite = false;
      continue;
    }
    const double error = std::abs(fast[i] - reference[i]) / std::max(scale, kSmallestScale);
    if (error <= difference.largest) continue;
    difference.largest = error;
    difference.where = where + "[" + std::to_string(i) + "]";
  }
}

// Of a second run, which meets the arena as the first one left it.
std::vector<Tensor> second_results(const Inferred& model, const ProgramOptions& options,
                                   const std::vector<Tensor>& inputs) {
  const auto program = compile(model, options);
  program->set_inputs(inputs);
  program->run();
  program->run();
  return program->results();
}

}  // namespace

std::string avoidable_fallback(const StepInfo& step) {
  const bool is_product_of_integers = step.op.find("Integer") != std::string::npos;
  return is_product_of_integers && !cpu::has_exact_8_bit_products() ? "" : step.fell_back;
}

void expect_same_on_any_threads(const Graph& graph, const std::vector<Tensor>& inputs) {
  const Inferred model = infer_shapes(graph);
  const auto program = compile(model);
  for (const StepInfo& step : program->steps()) EXPECT_EQ(avoidable_fallback(step), "") << step.op;
  const auto reference = second_results(model, {.engine = "reference"}, inputs);
  const auto alone = second_results(model, {.cpu = {.threads = 1}}, inputs);
  const Difference difference = compare_results(alone, reference);
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LT(difference.largest, 1e-5) << difference.where;
  for (const int threads : {2, 3}) {
    // Timing may choose another algorithm there.
    const auto together = second_results(model, {.cpu = {.threads = threads}}, inputs);
    EXPECT_LT(compare_results(together, reference).largest, 1e-5) << threads << " threads";
  }
}

Difference compare_results(const std::vector<Tensor>& fast, const std::vector<Tensor>& reference) {
  Difference difference;
  difference.same_shapes = fast.size() == reference.size();
  for (std::size_t i = 0; i < reference.size() && difference.same_shapes; ++i) {
    difference.same_shapes =
        fast[i].type() == reference[i].type() && fast[i].dims() == reference[i].dims();
    if (!difference.same_shapes) break;
    compare_numbers(fast[i].to_double(), reference[i].to_double(), "output " + std::to_string(i),
                    difference);
  }
  return difference;
}

Difference compare_engines(const Graph& graph, const ProgramOptions& options, std::uint64_t seed) {
  const Inferred model = infer_shapes(graph);
  ProgramOptions plain = options;
  plain.engine = "reference";
  const auto fast = compile(model, options);
  const auto reference = compile(model, plain);
  const auto inputs = random_inputs(fast->inputs(), seed);
  for (const auto& program : {fast.get(), reference.get()}) {
    program->set_inputs(inputs);
    program->run();
  }
  fast->run();  // a second run meets the arena as the first one left it
  return compare_results(fast->results(), reference->results());
}

}  // namespace assay
