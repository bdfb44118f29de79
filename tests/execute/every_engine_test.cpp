// Tests that every registered engine has to pass, whatever it runs on.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <numeric>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "execute/body_maker.h"
#include "execute/compare_engines.h"
#include "support/error_message.h"

namespace assay {
namespace {

// sum ← sum + x, and y = 2·sum of before.
Graph running_sum() {
  GraphBuilder builder("sums");
  const ValueId x = builder.input("x", DataType::Float32, Shape{3});
  const ValueId sum = builder.input("sum", DataType::Float32, Shape{3});
  const ValueId next = builder.node("Add", "next", {sum, x});
  builder.output(builder.node("Add", "twice", {sum, sum}), "y");
  builder.output(next, "new_sum");
  Graph graph = builder.finish();
  graph.carry({sum, next});
  return graph;
}

class EveryEngine : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto all = engines();
    const auto own = std::ranges::find(all, GetParam(), &EngineInfo::name);
    ASSERT_NE(own, all.end());
    info_ = *own;
    if (!info_.available) GTEST_SKIP() << info_.why_not;
  }

  std::unique_ptr<Program> compiled(Graph graph) const {
    return compile(infer_shapes(std::move(graph)), {.engine = GetParam()});
  }
  std::unique_ptr<Program> with_inputs(const std::string& zoo) const {
    auto program = compiled(zoo_model(zoo));
    program->set_inputs(random_inputs(program->inputs(), 1));
    return program;
  }

  EngineInfo info_;
};

TEST_P(EveryEngine, TellsItsName) {
  EXPECT_EQ(compiled(zoo_model("mlp"))->engine(), GetParam());
}

TEST_P(EveryEngine, GivesWhatThePlainKernelsGive) {
  for (const char* zoo : {"mlp", "small_cnn_gap"}) {
    const auto program = with_inputs(zoo);
    program->run();
    const auto plain = compile(infer_shapes(zoo_model(zoo)), {.engine = "reference"});
    plain->set_inputs(random_inputs(plain->inputs(), 1));
    plain->run();
    const Difference difference = compare_results(program->results(), plain->results());
    EXPECT_TRUE(difference.same_shapes);
    EXPECT_LE(difference.largest, 1e-4) << zoo;
  }
}

TEST_P(EveryEngine, RunsAgainWithOtherInputs) {
  const auto program = with_inputs("mlp");
  program->run();
  const auto first = program->results();
  program->set_inputs(random_inputs(program->inputs(), 2));
  program->run();
  EXPECT_GT(compare_results(program->results(), first).largest, 0);
  program->set_inputs(random_inputs(program->inputs(), 1));
  program->run();
  EXPECT_EQ(compare_results(program->results(), first).largest, 0);
}

TEST_P(EveryEngine, RefusesInputsThatDoNotFitAndNamesThem) {
  const auto program = compiled(zoo_model("mlp"));
  const std::string name = program->inputs()[0].name;
  const std::string message = error_message([&] {
    program->set_inputs(std::vector{Tensor::of_float({1, 3}, {1, 2, 3})});
  });
  EXPECT_NE(message.find("input '" + name + "'"), std::string::npos) << message;
  EXPECT_NE(error_message([&] { program->set_inputs({}); }).find("takes 1 inputs"),
            std::string::npos);
}

TEST_P(EveryEngine, WantsInputsAndStateBeforeARunAndARunBeforeResults) {
  const auto program = compiled(running_sum());
  EXPECT_NE(error_message([&] { program->run(); }).find("set the inputs"), std::string::npos);
  program->set_inputs(std::vector{Tensor::of_float({3}, {1, 2, 3})});
  EXPECT_NE(error_message([&] { program->run(); }).find("set the state"), std::string::npos);
  EXPECT_NE(error_message([&] { program->state_values(); }).find("set the state"),
            std::string::npos);
  program->set_state(std::vector{Tensor::of_float({3}, {0, 0, 10})});
  EXPECT_NE(error_message([&] { program->results(); }).find("run the program"), std::string::npos);
}

TEST_P(EveryEngine, CarriesStateFromRunToRun) {
  const auto program = compiled(running_sum());
  ASSERT_EQ(program->inputs().size(), 1u);
  ASSERT_EQ(program->state().size(), 1u);
  ASSERT_EQ(program->outputs().size(), 1u);
  program->set_inputs(std::vector{Tensor::of_float({3}, {1, 2, 3})});
  program->set_state(std::vector{Tensor::of_float({3}, {0, 0, 10})});
  program->run();
  program->run();
  EXPECT_EQ(program->results()[0].to_vector<float>(), (std::vector<float>{2, 4, 26}));
  EXPECT_EQ(program->state_values()[0].to_vector<float>(), (std::vector<float>{2, 4, 16}));
}

TEST_P(EveryEngine, TimesStepsOnlyWhenAskedAndNeverLongerThanTheRun) {
  const auto program = with_inputs("small_cnn");
  program->run();
  EXPECT_EQ(program->run_nanoseconds(), 0);
  program->observe_steps(true);
  program->run();
  const auto times = program->step_nanoseconds();
  ASSERT_EQ(times.size(), program->steps().size());
  const std::int64_t sum = std::accumulate(times.begin(), times.end(), std::int64_t{0});
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, program->run_nanoseconds());
  program->reset_step_times();
  EXPECT_EQ(program->run_nanoseconds(), 0);
  EXPECT_TRUE(
      std::ranges::all_of(program->step_nanoseconds(), [](auto time) { return time == 0; }));
}

TEST_P(EveryEngine, CallsTheListenerAfterEachStepInOrder) {
  const auto program = with_inputs("mlp");
  std::vector<std::size_t> seen;
  program->on_step([&](std::size_t step) { seen.push_back(step); });
  program->run();
  EXPECT_TRUE(seen.empty());  // nobody observes
  program->observe_steps(true);
  program->run();
  std::vector<std::size_t> all(program->steps().size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

// Row by row, whatever layout the view has.
std::vector<float> elements_of(const OutputView& view) {
  const auto* from = reinterpret_cast<const float*>(view.bytes.data());
  const std::size_t count = view.bytes.size() / sizeof(float);
  if (view.channel_block == 0) return {from, from + count};
  const auto pixels =
      std::accumulate(view.dims.begin() + 2, view.dims.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t block = view.channel_block;
  const std::int64_t blocks = (view.dims[1] + block - 1) / block;
  std::vector<float> elements;
  for (std::int64_t n = 0; n < view.dims[0]; ++n) {
    for (std::int64_t c = 0; c < view.dims[1]; ++c) {
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        elements.push_back(from[((n * blocks + c / block) * pixels + pixel) * block + c % block]);
    }
  }
  return elements;
}

// The network with every value that a node computes as an output.
Graph with_all_outputs(Graph graph) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId id : std::vector(graph.node(NodeId{i}).outputs)) {
      const bool is_output = std::ranges::find(graph.outputs(), id) != graph.outputs().end();
      if (!is_output) graph.add_output(id);
    }
  }
  return graph;
}

// That every output is shown once a run, and is what `results()` gives.
void expect_shown(const Graph& graph, const ProgramOptions& options) {
  const auto kept = compile(infer_shapes(graph), {.engine = options.engine});
  kept->set_inputs(random_inputs(kept->inputs(), 1));
  kept->run();
  const std::vector<Tensor> results = kept->results();
  const auto program = compile(infer_shapes(graph), options);
  std::vector<int> times(results.size(), 0);
  program->on_output([&](const OutputView& view) {
    ++times[view.output];
    const Tensor& result = results[view.output];
    ASSERT_EQ(view.dims, result.dims());
    ASSERT_EQ(view.type, DataType::Float32);
    const Tensor shown = Tensor::of_float(view.dims, elements_of(view));
    EXPECT_LE(compare_results({shown}, {result}).largest, 1e-4)
        << program->outputs()[view.output].name;
  });
  program->set_inputs(random_inputs(program->inputs(), 1));
  program->run();
  program->run();
  EXPECT_TRUE(std::ranges::all_of(times, [](int count) { return count == 2; }));
}

TEST_P(EveryEngine, ShowsEveryOutputWhereItLies) {
  std::vector<std::string> networks = {"mlp", "small_cnn_gap"};
  if (!info_.is_reference) networks.insert(networks.end(), {"mobilenet_v2", "resnet18"});
  for (const std::string& zoo : networks) {
    const Graph graph = with_all_outputs(zoo_model(zoo));
    expect_shown(graph, {.engine = GetParam(), .keep_outputs = false});
    expect_shown(graph, {.engine = GetParam(), .keep_outputs = true});
  }
}

TEST_P(EveryEngine, HasNoResultsIfOutputsAreNotKept) {
  const auto program =
      compile(infer_shapes(zoo_model("mlp")), {.engine = GetParam(), .keep_outputs = false});
  program->set_inputs(random_inputs(program->inputs(), 1));
  program->run();
  EXPECT_NE(error_message([&] { program->results(); }).find("keeps none"), std::string::npos);
}

// A program inside a step keeps its results whatever the one around it does.
TEST_P(EveryEngine, ShowsWhatABranchComputes) {
  Graph graph;
  graph.opsets[""] = 17;
  const ValueId choice = graph.add_value("choice", tensor_type(DataType::Bool, Shape{}));
  const ValueId x = graph.add_value("x", tensor_type(DataType::Float32, Shape{3}));
  const ValueId y = graph.add_value("y", tensor_type(DataType::Float32, Shape{3}));
  graph.add_input(choice);
  graph.add_input(x);
  const auto branch = [&](const char* op) {
    test::Body body;
    const ValueId inner = body.capture(x);
    return body.output(body.node(op, {inner, inner})).finish();
  };
  graph.add_node(
      Node{.name = "if",
           .op = "If",
           .domain = "",
           .inputs = {choice},
           .outputs = {y},
           .attributes = {{"then_branch", branch("Add")}, {"else_branch", branch("Mul")}}});
  graph.add_output(y);
  const auto program = compile(infer_shapes(graph), {.engine = GetParam(), .keep_outputs = false});
  std::vector<float> seen;
  program->on_output([&](const OutputView& view) { seen = elements_of(view); });
  const Tensor numbers = Tensor::of_float({3}, {1, 2, 3});
  program->set_inputs(std::vector{test::truth(false), numbers});
  program->run();
  EXPECT_EQ(seen, (std::vector<float>{1, 4, 9}));
  program->set_inputs(std::vector{test::truth(true), numbers});
  program->run();
  EXPECT_EQ(seen, (std::vector<float>{2, 4, 6}));
}

// y = 2·x, and x itself and a stored tensor as outputs.
TEST_P(EveryEngine, ShowsInputsAndConstantsThatAreOutputs) {
  GraphBuilder builder("outputs");
  const ValueId x = builder.input("x", DataType::Float32, Shape{3});
  builder.output(builder.node("Add", "twice", {x, x}), "y");
  Graph graph = builder.finish();
  const ValueId stored = graph.add_value("stored", tensor_type(DataType::Float32, Shape{1}));
  graph.add_initializer(stored, Tensor::of_float({1}, {7}));
  graph.add_output(x);
  graph.add_output(stored);
  const auto program = compile(infer_shapes(graph), {.engine = GetParam(), .keep_outputs = false});
  std::vector<std::vector<float>> seen(3);
  program->on_output([&](const OutputView& view) { seen[view.output] = elements_of(view); });
  program->set_inputs(std::vector{Tensor::of_float({3}, {1, 2, 3})});
  program->run();
  EXPECT_EQ(seen, (std::vector<std::vector<float>>{{2, 4, 6}, {1, 2, 3}, {7}}));
}

TEST_P(EveryEngine, EveryStepTellsPrecisionAndDevice) {
  const auto program = compiled(zoo_model("small_cnn"));
  for (const StepInfo& step : program->steps()) {
    EXPECT_EQ(step.precision, "fp32") << step.name;
    EXPECT_EQ(step.device, info_.device) << step.name;
  }
}

// The file says 24 elements, the operand has 8, and how they are to be arranged is known only at
// run time.
Graph declared_larger_than_it_is() {
  GraphBuilder builder("declared");
  const ValueId x = builder.weight("x", {2, 4}, 1.0);
  const ValueId shape = builder.input("shape", DataType::Int64, Shape{3});
  const ValueId y = builder.node("Reshape", "reshape", {x, shape});
  builder.output(y, "y");
  Graph graph = builder.finish();
  graph.value(y).type = tensor_type(DataType::Float32, Shape{4, 2, 3});
  return graph;
}

TEST_P(EveryEngine, ReadsNoMoreThanThereIsWhateverAFileDeclares) {
  const auto program = compiled(declared_larger_than_it_is());
  program->set_inputs(std::vector{Tensor::of_int64({3}, {2, 2, 2})});
  try {
    program->run();
  } catch (const Error&) {
    return;  // a result of other dimensions than declared may be refused
  }
  EXPECT_EQ(program->results()[0].dims(), (Dims{2, 2, 2}));
}

// A batched product whose result is transposed.
Graph transposed_product(std::vector<std::int64_t> order) {
  GraphBuilder builder("product");
  const ValueId a = builder.input("a", DataType::Float32, Shape{2, 3, 4, 5});
  const ValueId b = builder.input("b", DataType::Float32, Shape{2, 3, 5, 6});
  const ValueId product = builder.node("MatMul", "product", {a, b});
  builder.output(builder.node("Transpose", "transpose", {product}, {{"perm", std::move(order)}}),
                 "y");
  return builder.finish();
}

TEST_P(EveryEngine, CountsNegativeAxesOfATransposeFromTheEnd) {
  const auto result = [&](std::vector<std::int64_t> order) {
    const auto program = compiled(transposed_product(std::move(order)));
    program->set_inputs(random_inputs(program->inputs(), 1));
    program->run();
    return program->results()[0];
  };
  const Tensor expected = result({0, 2, 1, 3});
  EXPECT_EQ(expected.dims(), (Dims{2, 4, 3, 6}));
  for (const auto& order : {Dims{-4, -2, -3, -1}, Dims{-4, -2, -3, 3}, Dims{0, -2, 1, 3}}) {
    const Tensor seen = result(order);
    EXPECT_EQ(seen.dims(), expected.dims());
    EXPECT_EQ(seen.to_vector<float>(), expected.to_vector<float>());
  }
}

Graph over_four_spatial_axes(const std::string& op) {
  GraphBuilder builder("windows");
  std::vector<ValueId> operands = {builder.input("x", DataType::Float32, Shape{1, 2, 3, 3, 3, 3})};
  if (op != "MaxPool" && op != "AveragePool") {
    operands.push_back(builder.filled("weight", {2, 2, 2, 2, 2, 2}, 1.0f));
  }
  builder.output(builder.node(op, op, operands, {{"kernel_shape", Dims{2, 2, 2, 2}}}), "y");
  return builder.finish();
}

TEST_P(EveryEngine, RefusesWindowsOverMoreThanThreeSpatialAxes) {
  for (const char* op : {"Conv", "ConvTranspose", "MaxPool", "AveragePool"}) {
    const std::string message = error_message([&] {
      const auto program = compiled(over_four_spatial_axes(op));
      program->set_inputs(random_inputs(program->inputs(), 1));
      program->run();
    });
    EXPECT_NE(message.find("spatial axes"), std::string::npos) << op << ": " << message;
  }
}

cpu_set_t processors_of_this_thread() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  EXPECT_EQ(sched_getaffinity(0, sizeof processors, &processors), 0);
  return processors;
}

TEST_P(EveryEngine, LeavesTheCallersProcessorsAloneUnlessAsked) {
  const cpu_set_t before = processors_of_this_thread();
  const auto program = with_inputs("mlp");
  const cpu_set_t compiled = processors_of_this_thread();
  EXPECT_TRUE(CPU_EQUAL(&before, &compiled));
  program->run();
  const cpu_set_t after = processors_of_this_thread();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryEngine, testing::ValuesIn(engine_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace assay
