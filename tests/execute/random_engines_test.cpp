// Both engines agree on random networks. The seed is printed; ASSAY_TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "assay/text_form.h"
#include "execute/compare_engines.h"
#include "execute/random_graph.h"

namespace assay {
namespace {

constexpr int kEngineGraphs = 500;
// Attention on random scores turns rounding into more than a trained network would.
constexpr double kEngineTolerance = 1e-4;

std::uint64_t first_seed() {
  const char* given = std::getenv("ASSAY_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}() % 1'000'000;
}

TEST(RandomGraphs, GiveTheSameOutputsOnBothEngines) {
  const std::uint64_t first = first_seed();
  std::cout << "random graphs from seed " << first << "\n";
  for (int i = 0; i < kEngineGraphs; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const Graph graph = random_graph(seed);
    ProgramOptions options;
    options.cpu.threads = 1 + i % 2;
    if (i % 5 == 0) options.optimize_for = OptimizeFor::Memory;
    const Difference difference = compare_engines(graph, options, seed);
    ASSERT_TRUE(difference.same_shapes && difference.same_non_finite) << "seed " << seed << "\n"
                                                                      << to_text(graph);
    ASSERT_LE(difference.largest, kEngineTolerance)
        << "seed " << seed << " at " << difference.where << "\n"
        << to_text(graph);
  }
}

}  // namespace
}  // namespace assay
