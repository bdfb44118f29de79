// A pruned model gives what the original gives with the removed channels set to zero.
#include <gtest/gtest.h>

#include "assay/text_form.h"
#include "assay/zoo.h"
#include "execute/prune_oracle.h"
#include "execute/random_graph.h"

namespace assay {
namespace {

constexpr double kPrunedTolerance = 1e-4;
constexpr int kPrunedGraphs = 500;

const ProgramOptions kUntuned = {.optimize_for = OptimizeFor::Memory};

class PrunedZoo : public testing::TestWithParam<const char*> {};

TEST_P(PrunedZoo, GivesWhatTheOriginalGivesWithZeroedChannels) {
  const Difference difference =
      compare_with_zeroed(zoo_model(GetParam()), {.level = 0.4}, kUntuned);
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LE(difference.largest, kPrunedTolerance) << difference.where;
}

std::string pruned_name(const testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  for (char& letter : name) {
    if (!isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  return name;
}

// bench/prune_check runs the larger ones.
INSTANTIATE_TEST_SUITE_P(AllOfIt, PrunedZoo,
                         testing::Values("small_cnn", "small_cnn_gap", "lenet5", "mlp",
                                         "stream_mlp:features=16", "encoder:layers=2,width=64",
                                         "mobilenet_v2", "resnet18"),
                         pruned_name);

// Without zeroed channels the original differs: the comparison is not empty.
TEST(PrunedZooItself, DiffersFromTheOriginal) {
  const Graph model = zoo_model("small_cnn");
  const auto outputs = [](const Graph& graph) {
    const auto program = compile(infer_shapes(graph), kUntuned);
    program->set_inputs(random_inputs(program->inputs()));
    program->run();
    return program->results();
  };
  const auto pruned = outputs(prune_model(model, {.level = 0.4}).graph);
  EXPECT_GT(compare_results(pruned, outputs(model)).largest, 0.05);
  EXPECT_GT(compare_results(pruned, outputs(zeroed_model(model, {.level = 0.6}))).largest, 0.01);
}

bool can_be_pruned(const Graph& graph) {
  for (const PrunedGroup& group : prune_groups(graph)) {
    if (group.frozen.empty()) return true;
  }
  return false;
}

TEST(PrunedRandomGraphs, GiveWhatTheOriginalsGiveWithZeroedChannels) {
  int pruned = 0;
  for (std::uint64_t seed = 0; pruned < kPrunedGraphs; ++seed) {
    const Graph graph = random_graph(seed);
    if (!can_be_pruned(graph)) continue;
    ++pruned;
    PruneOptions options;
    options.level = 0.2 + 0.1 * static_cast<double>(seed % 7);
    if (seed % 3 == 0) options.ranking = PruneRanking::Global;
    if (seed % 5 == 0) options.criterion = PruneCriterion::L2;
    const Difference difference =
        compare_with_zeroed(graph, options, {.engine = "reference"}, seed);
    ASSERT_TRUE(difference.same_shapes && difference.same_non_finite) << "seed " << seed << "\n"
                                                                      << to_text(graph);
    ASSERT_LE(difference.largest, kPrunedTolerance)
        << "seed " << seed << " at " << difference.where << "\n"
        << to_text(graph);
  }
}

}  // namespace
}  // namespace assay
