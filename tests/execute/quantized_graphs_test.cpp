// Both engines agree on random networks of 8-bit numbers, to one quantisation step of each tensor.
// The seed is printed; ASSAY_TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "assay/program.h"
#include "assay/text_form.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/simd/winograd16.h"
#include "execute/emulated.h"
#include "execute/preferred_choice.h"
#include "execute/quantized_graph.h"
#include "execute/quantized_oracle.h"

namespace assay {
namespace {

// ASSAY_TEST_GRAPHS asks for fewer or more.
std::uint64_t graph_count() {
  const char* given = std::getenv("ASSAY_TEST_GRAPHS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 500;
}

// Of all numbers that are compared; only those near the middle between two steps may differ.
constexpr double kMostDifferent = 0.01;

// The same graphs in every run, unless ASSAY_TEST_SEED says where to begin.
std::uint64_t first_quantized_seed() {
  const char* given = std::getenv("ASSAY_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

std::vector<Tensor> results_of(Program& program, const std::vector<Tensor>& inputs) {
  program.set_inputs(inputs);
  program.run();
  program.run();  // meets the arena as the first run left it
  return program.results();
}

std::vector<Tensor> results_of(const Inferred& model, const ProgramOptions& options,
                               const std::vector<Tensor>& inputs) {
  return results_of(*compile(model, options), inputs);
}

// What is wrong on 1 or 2 threads, or nothing.
std::string first_difference(const QuantizedGraph& made, Tally& tally) {
  const Inferred model = infer_shapes(made.graph);
  for (const int threads : {1, 2}) {
    const auto results = results_of(model, {.cpu = {.threads = threads}}, made.inputs);
    const std::string wrong = Oracle(model.graph, made.inputs, results).check(tally);
    if (!wrong.empty()) return std::to_string(threads) + " threads, " + wrong;
  }
  return "";
}

// The seed, what is wrong where all 8-bit values are outputs, and the graph.
std::string description(std::uint64_t seed, const Graph& graph) {
  Tally tally;
  const std::string apart = first_difference(quantized_graph(seed, Shown::All), tally);
  return "seed " + std::to_string(seed) +
         "; with all values shown: " + (apart.empty() ? "nothing is wrong" : apart) + "\n" +
         to_text(graph);
}

TEST(QuantizedGraphs, AreOneStepApartOnBothEngines) {
  const std::uint64_t first = first_quantized_seed();
  std::cout << "quantised graphs from seed " << first << std::endl;
  Tally tally;
  for (std::uint64_t seed = first; seed < first + graph_count(); ++seed) {
    const QuantizedGraph made = quantized_graph(seed);
    ASSERT_EQ(first_difference(made, tally), "") << description(seed, made.graph);
  }
  EXPECT_LE(static_cast<double>(tally.different),
            kMostDifferent * static_cast<double>(tally.numbers));
  EXPECT_GE(tally.varied_tensors, tally.tensors / 2);
}

// A sum after a convolution, and a Relu after the sum: oneDNN ran the clamp of the convolution
// twice.
TEST(QuantizedGraphs, ThatOnceDifferedAgree) {
  Tally tally;
  for (const std::uint64_t seed : {907504u, 412358u}) {
    const QuantizedGraph made = quantized_graph(seed);
    EXPECT_EQ(first_difference(made, tally), "") << description(seed, made.graph);
  }
}

// Tile instructions are the first choice, which is taken where nothing is timed.
TEST(QuantizedGraphs, AreOneStepApartByTiles) {
  if (!cpu::has_exact_8_bit_products()) GTEST_SKIP() << "8-bit graphs run in float32 here";
  constexpr int kTiled = 150;
  const std::uint64_t first = first_quantized_seed();
  if (cpu::tiles() == nullptr) cpu::replace_tiles(&cpu::tiles_emulated());
  std::cout << "graphs from seed " << first << " on tiles: " << cpu::tiles()->name << "\n";
  Tally tally;
  std::size_t tile_steps = 0;
  for (std::uint64_t seed = first; seed < first + kTiled; ++seed) {
    const QuantizedGraph made = quantized_graph(seed);
    const Inferred model = infer_shapes(made.graph);
    ProgramOptions options{.optimize_for = OptimizeFor::Memory, .cpu = {.threads = 1}};
    const auto program = compile(model, options);
    for (const StepInfo& step : program->steps())
      tile_steps += step.algorithm.starts_with("tiles") ? 1 : 0;
    const auto alone = results_of(model, options, made.inputs);
    const std::string wrong = Oracle(model.graph, made.inputs, alone).check(tally);
    EXPECT_EQ(wrong, "") << "seed " << seed << "\n" << to_text(made.graph);
    options.cpu.threads = 2;
    EXPECT_EQ(results_of(model, options, made.inputs), alone) << "2 threads, seed " << seed;
  }
  cpu::replace_tiles(nullptr);
  EXPECT_GE(tile_steps, 50u);
  EXPECT_LE(static_cast<double>(tally.different),
            kMostDifferent * static_cast<double>(tally.numbers));
}

TEST(QuantizedGraphs, AreOneStepApartByWinogradIn16BitIntegers) {
  constexpr std::string_view kName = "winograd 4x4 int16";
  if (cpu::winograd16() == nullptr || cpu::tiles() != nullptr)
    GTEST_SKIP() << "not offered on this processor";
  constexpr int kGraphs = 300;
  const std::uint64_t first = first_quantized_seed();
  Tally tally;
  std::size_t steps = 0;
  for (std::uint64_t seed = first; seed < first + kGraphs; ++seed) {
    const QuantizedGraph made = quantized_graph(seed);
    const Inferred model = infer_shapes(made.graph);
    ProgramOptions options;
    options.cpu.threads = 1 + static_cast<int>(seed % 2);
    const auto program = compile_preferring(std::string(kName), model, options);
    const auto before = steps;
    for (const StepInfo& step : program->steps()) {
      if (!step.algorithm.starts_with(kName)) continue;
      ++steps;
      EXPECT_EQ(step.precision, "int16");
      EXPECT_EQ(step.isa, "avx512_vnni");
    }
    if (steps == before) continue;
    const auto results = results_of(*program, made.inputs);
    ASSERT_EQ(Oracle(model.graph, made.inputs, results).check(tally), "") << "seed " << seed << "\n"
                                                                          << to_text(made.graph);
  }
  std::cout << steps << " steps in graphs from seed " << first << "\n";
  EXPECT_GE(steps, 20u);
  EXPECT_LE(static_cast<double>(tally.different),
            kMostDifferent * static_cast<double>(tally.numbers));
}

// The oracle above and the reference engine are the same.
TEST(QuantizedGraphs, AreWhatTheReferenceEngineComputes) {
  const std::uint64_t first = first_quantized_seed();
  for (std::uint64_t seed = first; seed < first + graph_count() / 10; ++seed) {
    const QuantizedGraph made = quantized_graph(seed);
    const Inferred model = infer_shapes(made.graph);
    Tally tally;
    const auto results = results_of(model, {.engine = "reference"}, made.inputs);
    ASSERT_EQ(Oracle(model.graph, made.inputs, results).check(tally), "") << "seed " << seed;
    ASSERT_EQ(tally.different, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace assay
