// LSTM and GRU forward and back on the fast engine against the reference one. Weights and states
// are inputs of the graph, as they are where a model is trained.
#include <gtest/gtest.h>

#include "assay/differentiate.h"
#include "assay/infer.h"
#include "assay/program.h"
#include "assay/recompute.h"
#include "compare_engines.h"
#include "recurrent_setting.h"

namespace assay {
namespace {

RecurrentSetting usual(const std::string& op) {
  RecurrentSetting setting{.steps = 5, .batch = 6, .features = 7, .hidden = 40};
  setting.op = op == "LSTM" ? "LSTM" : "GRU";
  if (op == "linear GRU") setting.attributes = {{"linear_before_reset", std::int64_t{1}}};
  return setting;
}

// Results: those of the op, joined; the loss; the gradients of all inputs.
Graph with_gradients(GradientCase one) {
  one.type = DataType::Float32;
  const Scene scene = scene_of(one);
  const Inferred inferred = infer_shapes(scene.graph);
  const std::vector<ValueId> by(inferred.graph.inputs().begin(), inferred.graph.inputs().end());
  Differentiated both = differentiate(inferred, scene.loss, by);
  for (const ValueGradient& pair : both.gradients) both.graph.add_output(pair.gradient);
  return both.graph;
}

std::size_t steps_of(const Program& program, const std::string& op) {
  std::size_t count = 0;
  for (const StepInfo& step : program.steps()) count += step.op == op ? 1 : 0;
  return count;
}

// Large weights would make a small difference larger with every step.
std::vector<Tensor> small_inputs(const Program& program) {
  auto inputs = random_inputs(program.inputs(), 5);
  for (Tensor& input : inputs) {
    auto numbers = input.to_vector<float>();
    for (float& number : numbers) number *= 0.1f;
    input = Tensor::of_float(input.dims(), numbers);
  }
  return inputs;
}

std::vector<Tensor> results_of(Program& program) {
  program.set_inputs(small_inputs(program));
  program.run();
  program.run();  // a second run meets the arena as the first one left it
  auto results = program.results();
  results.erase(results.begin() + 1);  // the loss, whose terms nearly cancel
  return results;
}

void expect_equal_engines(const Graph& graph, const std::string& what) {
  const Inferred model = infer_shapes(graph);
  const auto expected = results_of(*compile(model, {.engine = "reference"}));
  for (const int threads : {1, 2}) {
    const auto fast = compile(model, {.cpu = {.threads = threads}});
    const Difference difference = compare_results(results_of(*fast), expected);
    EXPECT_TRUE(difference.same_shapes) << what;
    EXPECT_LT(difference.largest, 2e-5) << what << " " << threads << " " << difference.where;
    for (const StepInfo& step : fast->steps()) {
      EXPECT_EQ(step.fell_back, "") << what << " " << step.name << " " << step.op;
    }
  }
}

void expect_equal_engines(const RecurrentSetting& setting, const std::string& what) {
  expect_equal_engines(with_gradients(recurrent_case(setting)), what);
}

class RecurrentEngines : public testing::TestWithParam<const char*> {};

TEST_P(RecurrentEngines, AgreeInAllDirections) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const std::int64_t batch : {1, 3, 6, 17}) {
      RecurrentSetting one = usual(GetParam());
      one.direction = direction;
      one.batch = batch;
      expect_equal_engines(one, direction + std::string(" batch ") + std::to_string(batch));
    }
  }
}

TEST_P(RecurrentEngines, AgreeOnWholeAndPartialPanelsOfUnits) {
  for (const std::int64_t hidden : {1, 31, 32, 64, 70, 300}) {
    RecurrentSetting one = usual(GetParam());
    one.hidden = hidden;
    expect_equal_engines(one, "hidden " + std::to_string(hidden));
  }
}

TEST_P(RecurrentEngines, AgreeWithoutBiasAndInitialStates) {
  for (const bool has_bias : {false, true}) {
    for (const bool has_states : {false, true}) {
      RecurrentSetting one = usual(GetParam());
      one.has_bias = has_bias;
      one.has_states = has_states;
      expect_equal_engines(one, std::to_string(has_bias) + std::to_string(has_states));
    }
  }
}

TEST_P(RecurrentEngines, AgreeWhicheverResultIsRead) {
  const std::size_t results = usual(GetParam()).op == "LSTM" ? 3 : 2;
  for (std::size_t result = 0; result < results; ++result) {
    RecurrentSetting one = usual(GetParam());
    one.direction = "bidirectional";
    one.results = {result};
    expect_equal_engines(one, "result " + std::to_string(result));
  }
}

TEST_P(RecurrentEngines, AgreeOnASingleStep) {
  RecurrentSetting one = usual(GetParam());
  one.steps = 1;
  one.direction = "bidirectional";
  expect_equal_engines(one, "one step");
}

TEST_P(RecurrentEngines, GiveTheSameBitsInEveryRun) {
  RecurrentSetting setting = usual(GetParam());
  setting.hidden = 96;
  const Inferred model = infer_shapes(with_gradients(recurrent_case(setting)));
  for (const int threads : {1, 2}) {
    std::vector<std::vector<Tensor>> runs;
    for (int run = 0; run < 3; ++run) {
      const auto program = compile(model, {.cpu = {.threads = threads}});
      runs.push_back(results_of(*program));
    }
    for (const auto& results : runs) EXPECT_EQ(compare_results(results, runs[0]).largest, 0);
  }
}

// Gates of all steps are kept for the gradient, and for nobody else.
TEST_P(RecurrentEngines, RunForwardOnce) {
  const RecurrentSetting setting = usual(GetParam());
  const auto program =
      compile(infer_shapes(with_gradients(recurrent_case(setting))), {.cpu = {.threads = 1}});
  EXPECT_EQ(steps_of(*program, setting.op), 1u);
  EXPECT_EQ(steps_of(*program, setting.op == "LSTM" ? "LstmGradient" : "GruGradient"), 1u);
}

INSTANTIATE_TEST_SUITE_P(Ops, RecurrentEngines, testing::Values("LSTM", "GRU", "linear GRU"));

// A gradient that reads a second copy of X has the forward run repeated.
TEST(RecurrentEnginesApart, AgreeWhereTheGradientFindsNothingKept) {
  GradientCase one = recurrent_case(usual("LSTM"));
  const Build build = one.build;
  one.build = [build](GraphBuilder& builder, std::vector<ValueId> given) {
    given[0] = builder.node("Tanh", "squashed", {given[0]});
    return build(builder, given);
  };
  const Scene scene = scene_of(one);
  const Inferred whole = infer_shapes(with_gradients(one));
  const Graph graph = recompute(whole.graph, scene.graph.node_count(), 2).graph;
  const auto program = compile(infer_shapes(graph), {.cpu = {.threads = 1}});
  EXPECT_EQ(steps_of(*program, "LstmGradient"), 2u);
  expect_equal_engines(graph, "recomputed");
}

}  // namespace
}  // namespace assay
