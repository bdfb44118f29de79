// A step of training on the GPU leaves the state that the reference engine leaves, and nothing of
// it runs on the host; attention over a cache writes where the cache lies.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/cost.h"
#include "assay/layers.h"
#include "assay/training_step.h"
#include "assay/zoo.h"
#include "execute/cached_attention_graph.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

struct TrainingCase {
  const char* network = "";
  OptimizerKind optimizer = OptimizerKind::Sgd;
  Loss loss = Loss::CrossEntropy;
};

std::vector<Tensor> initial_state(const TrainingStep& step) {
  std::vector<Tensor> state;
  for (const StateSlot& slot : step.state) state.push_back(slot.initial);
  return state;
}

std::unique_ptr<Program> program_of(const TrainingStep& step, const std::string& engine) {
  auto program = compile(infer_shapes(step.graph), {.engine = engine});
  program->set_state(initial_state(step));
  return program;
}

// The rate, the number of the step and labels are not random.
std::vector<Tensor> inputs_for(const Program& program, std::int64_t number) {
  auto inputs = random_inputs(program.inputs(), 3);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = program.inputs()[i].name;
    if (name == "learning_rate") inputs[i] = Tensor::of_float({}, {0.001f});
    if (name == "step") inputs[i] = Tensor::of_int64({}, {number});
    if (name != "labels") continue;
    std::vector<std::int64_t> labels;
    for (std::int64_t j = 0; j < inputs[i].elements(); ++j) labels.push_back(j * 7 % 10);
    inputs[i] = Tensor::of_int64(inputs[i].dims(), labels);
  }
  return inputs;
}

double loss_after(Program& program, std::int64_t number) {
  program.set_inputs(inputs_for(program, number));
  program.run();
  return program.results().front().to_double().front();
}

void expect_same_training(const Inferred& model, const TrainingStepOptions& options) {
  const TrainingStep step = training_step(model, trainable_parameters(model), options);
  const auto fast = program_of(step, kCudaEngine);
  const auto plain = program_of(step, "reference");
  for (std::int64_t number = 1; number <= 3; ++number) {
    const double reference = loss_after(*plain, number);
    EXPECT_NEAR(loss_after(*fast, number), reference, 1e-4 * std::abs(reference) + 1e-5);
  }
  const Difference difference = compare_results(fast->state_values(), plain->state_values());
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LT(difference.largest, 2e-3) << difference.where;
  EXPECT_GT(compare_results(plain->state_values(), initial_state(step)).largest, 0);
  for (const StepInfo& info : fast->steps())
    EXPECT_EQ(info.device, "cuda") << info.name << " " << info.op << " " << info.fell_back;
}

class CudaTraining : public testing::TestWithParam<TrainingCase> {
 protected:
  void SetUp() override { fake_device(); }
};

// Adam divides by the size of the gradient: an epsilon well above rounding keeps what is nothing
// but rounding from becoming a whole step.
TEST_P(CudaTraining, LeavesTheStateThatTheReferenceLeaves) {
  const TrainingCase one = GetParam();
  expect_same_training(
      infer_shapes(bind_inputs(zoo_model(one.network), {.batch = 3}).graph),
      {.loss = one.loss,
       .optimizer = {.kind = one.optimizer, .epsilon = 1e-3, .weight_decay = 0.01}});
}

std::string training_name(const testing::TestParamInfo<TrainingCase>& tested) {
  std::string name =
      fmt::format("{}_{}", tested.param.network, assay::name(tested.param.optimizer));
  for (char& letter : name)
    if (isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, CudaTraining,
    testing::Values(TrainingCase{"small_cnn"}, TrainingCase{"small_cnn_gap", OptimizerKind::AdamW},
                    TrainingCase{"lenet5", OptimizerKind::Adam},
                    TrainingCase{"mlp", OptimizerKind::Momentum, Loss::MeanSquaredError},
                    TrainingCase{"encoder:layers=1,width=32,length=12", OptimizerKind::Momentum,
                                 Loss::SumOfSquares}),
    training_name);

// What resnet18 and mobilenet_v2 have and small networks lack: batch norms, a residual, a padded
// max pool, a dropout, convolutions of one tap and of one channel.
Graph residual_network() {
  GraphBuilder builder("residual", 5, 17);
  const ValueId images = builder.input("x", DataType::Float32, Shape{4, 3, 9, 9});
  const ValueId first =
      Sequential({Conv2d(3, 8, 3, {.stride = 2, .padding = 1}), BatchNorm2d(8), Relu(),
                  MaxPool2d(3, {.stride = 2, .padding = 1})})(builder, images);
  const ValueId branch = Sequential(
      {Conv2d(8, 8, 3, {.padding = 1, .groups = 8}), BatchNorm2d(8), Relu(), Conv2d(8, 8, 1),
       BatchNorm2d(8), Conv2d(8, 8, 3, {.padding = 1}), Dropout(0.3f)})(builder, first);
  const ValueId sum = builder.node("Add", "sum", {first, branch});
  builder.output(Sequential({Relu(), GlobalAvgPool2d(), Flatten(), Linear(8, 10)})(builder, sum),
                 "y");
  return builder.finish();
}

TEST(CudaTrainingStep, OfABatchNormAResidualAndADropout) {
  fake_device();
  expect_same_training(
      infer_shapes(residual_network()),
      {.loss = Loss::CrossEntropy, .optimizer = {.kind = OptimizerKind::Momentum}});
}

// Nothing is copied over the old state in the end.
TEST(CudaTrainingStep, WritesNewStateWhereTheOldOneLies) {
  fake_device();
  const Inferred model = infer_shapes(residual_network());
  const TrainingStep step =
      training_step(model, trainable_parameters(model), {.loss = Loss::CrossEntropy});
  const auto program = compile(infer_shapes(step.graph), {.engine = kCudaEngine});
  EXPECT_NE(program->steps().back().op, "Reorder") << program->steps().back().name;
}

TEST(CudaTrainingStep, OfConvolutionsOfALibrary) {
  fake_device();
  const FakeSetting libraries("FAKE_CUDA_LIBRARIES", "1");
  const FakeSetting slow("FAKE_CUDA_KERNEL_MS", "20");
  const Inferred model = infer_shapes(residual_network());
  const TrainingStepOptions options = {.loss = Loss::CrossEntropy,
                                       .optimizer = {.kind = OptimizerKind::Momentum}};
  expect_same_training(model, options);
  const TrainingStep step = training_step(model, trainable_parameters(model), options);
  const auto program = program_of(step, kCudaEngine);
  std::map<std::string, int> by_library;
  for (const StepInfo& info : program->steps())
    if (info.algorithm.starts_with("cu")) ++by_library[info.op];
  EXPECT_EQ(by_library["ConvWeightGradient"], 4);
  EXPECT_GE(by_library["ConvInputGradient"],
            2);  // the direct one of a depthwise convolution is fast
}

struct RecurrentCase {
  const char* name = "";
  const char* op = "LSTM";
  const char* direction = "forward";
  bool has_lengths = false;
  std::vector<Attribute> attributes = {};
};

// All results count, and all inputs but the lengths are parameters.
Graph recurrent_layer(const RecurrentCase& one) {
  constexpr std::int64_t kSteps = 4, kBatch = 5, kFeatures = 6, kHidden = 7;
  const bool is_lstm = one.op == std::string("LSTM");
  const std::int64_t gates = is_lstm ? 4 : one.op == std::string("GRU") ? 3 : 1;
  const std::int64_t directions = one.direction == std::string("bidirectional") ? 2 : 1;
  GraphBuilder builder("recurrent", 3);
  std::vector<ValueId> inputs = {
      builder.node("Tanh", "squashed",
                   {builder.input("x", DataType::Float32, Shape{kSteps, kBatch, kFeatures})}),
      builder.weight("W", {directions, gates * kHidden, kFeatures}, 0.5),
      builder.weight("R", {directions, gates * kHidden, kHidden}, 0.5),
      builder.weight("B", {directions, 2 * gates * kHidden}, 0.5),
      one.has_lengths
          ? builder.constant("lengths", Tensor::of<std::int32_t>(DataType::Int32, {kBatch},
                                                                 std::vector{4, 0, 2, 1, 3}))
          : ValueId{},
      builder.weight("h", {directions, kBatch, kHidden}, 0.5)};
  if (is_lstm) {
    inputs.push_back(builder.weight("c", {directions, kBatch, kHidden}, 0.5));
    inputs.push_back(builder.weight("P", {directions, 3 * kHidden}, 0.5));
  }
  std::vector<Attribute> attributes = {{"direction", std::string(one.direction)},
                                       {"hidden_size", kHidden}};
  attributes.insert(attributes.end(), one.attributes.begin(), one.attributes.end());
  const auto results =
      builder.node_with_outputs(one.op, "layer", inputs, is_lstm ? 3 : 2, attributes);
  ValueId sum = builder.node("Add", "with_last", {results[0], results[1]});
  if (is_lstm) sum = builder.node("Add", "with_cell", {sum, results[2]});
  builder.output(sum, "y");
  return builder.finish();
}

class CudaRecurrentTraining : public testing::TestWithParam<RecurrentCase> {
 protected:
  void SetUp() override { fake_device(); }
};

TEST_P(CudaRecurrentTraining, LeavesTheStateThatTheReferenceLeaves) {
  expect_same_training(
      infer_shapes(recurrent_layer(GetParam())),
      {.loss = Loss::SumOfSquares, .optimizer = {.kind = OptimizerKind::Momentum}});
}

INSTANTIATE_TEST_SUITE_P(
    Forms, CudaRecurrentTraining,
    testing::Values(RecurrentCase{"lstm", "LSTM"},
                    RecurrentCase{"lstm_of_lengths", "LSTM", "bidirectional", true},
                    RecurrentCase{"coupled_clipped_lstm",
                                  "LSTM",
                                  "reverse",
                                  true,
                                  {{"input_forget", std::int64_t{1}}, {"clip", 0.5f}}},
                    RecurrentCase{"gru", "GRU"},
                    RecurrentCase{"gru_of_lengths", "GRU", "bidirectional", true},
                    RecurrentCase{"gru_that_resets_after",
                                  "GRU",
                                  "bidirectional",
                                  true,
                                  {{"linear_before_reset", std::int64_t{1}}}},
                    RecurrentCase{"rnn",
                                  "RNN",
                                  "bidirectional",
                                  true,
                                  {{"activations", std::vector<std::string>{"Tanh", "Softsign"}}}}),
    [](const testing::TestParamInfo<RecurrentCase>& tested) { return tested.param.name; });

// One kernel for all parameters: those whose gradients lie in another order too.
TEST(CudaTrainingStep, UpdatesAllParametersInOneStep) {
  fake_device();
  const Inferred model = infer_shapes(bind_inputs(zoo_model("lenet5"), {.batch = 2}).graph);
  const TrainingStep step =
      training_step(model, trainable_parameters(model),
                    {.loss = Loss::CrossEntropy, .optimizer = {.kind = OptimizerKind::Adam}});
  const auto program = compile(infer_shapes(step.graph), {.engine = kCudaEngine});
  std::size_t updated = 0;
  std::size_t steps = 0;
  for (const StepInfo& info : program->steps()) {
    if (info.op != "Adam") continue;
    ++steps;
    updated += info.layers.size();
  }
  EXPECT_EQ(steps, 1u);
  EXPECT_EQ(updated, trainable_parameters(model).size());
}

constexpr std::int64_t kCapacity = 9;

TEST(CudaCachedAttention, KeepsItsStateWhereItLies) {
  fake_device();
  for (const std::int64_t tokens : {1, 3}) {
    const Graph graph = cached_attention_graph({.tokens = tokens, .capacity = kCapacity});
    const auto fast = compile(infer_shapes(graph), {.engine = kCudaEngine});
    const auto plain = compile(infer_shapes(graph), {.engine = "reference"});
    for (Program* program : {fast.get(), plain.get()})
      program->set_state(random_inputs(program->state(), 1));
    for (std::int64_t position = 0; position + tokens <= kCapacity; position += tokens) {
      auto inputs = random_inputs(fast->inputs(), static_cast<std::uint64_t>(position));
      inputs.back() = Tensor::of_int64({1}, {position});
      for (Program* program : {fast.get(), plain.get()}) {
        program->set_inputs(inputs);
        program->run();
      }
      EXPECT_LT(compare_results(fast->results(), plain->results()).largest, 1e-5) << position;
    }
    EXPECT_EQ(fast->state_values(), plain->state_values());
    ASSERT_EQ(fast->steps().size(), 1u);  // nothing copies the caches
    EXPECT_EQ(fast->steps()[0].algorithm, "in place");
  }
}

// a, b ← b, a: each new state lies where the other's old one does.
TEST(CudaState, ThatIsExchangedIsNotOverwrittenBeforeItIsRead) {
  fake_device();
  GraphBuilder builder("exchange");
  const ValueId a = builder.input("a", DataType::Float32, Shape{2, 1});
  const ValueId b = builder.input("b", DataType::Float32, Shape{2, 1});
  const ValueId new_a =
      builder.node("Transpose", "from_b", {b}, {{"perm", std::vector<std::int64_t>{0, 1}}});
  const ValueId new_b =
      builder.node("Transpose", "from_a", {a}, {{"perm", std::vector<std::int64_t>{0, 1}}});
  builder.output(new_a, "new_a");
  builder.output(new_b, "new_b");
  Graph graph = builder.finish();
  graph.carry({a, new_a});
  graph.carry({b, new_b});
  const auto program = compile(infer_shapes(graph), {.engine = kCudaEngine});
  const std::vector<Tensor> state = {Tensor::of_float({2, 1}, {1, 2}),
                                     Tensor::of_float({2, 1}, {3, 4})};
  program->set_state(state);
  program->run();
  EXPECT_EQ(program->state_values(), (std::vector<Tensor>{state[1], state[0]}));
}

}  // namespace
}  // namespace assay
