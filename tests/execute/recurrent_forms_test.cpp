// GRU, LSTM and RNN in their less usual forms on the fast engine, against the reference one.
#include <gtest/gtest.h>

#include <numeric>

#include "assay/builder.h"
#include "same_results.h"

namespace assay {
namespace {

using test::error_of;
using test::expect_same_results;
using Dims = std::vector<std::int64_t>;

struct Form {
  std::string op = "GRU";
  std::string direction = "forward";
  std::vector<Attribute> attributes = {};
  std::vector<std::int32_t> lengths = {};  // none: not given
  bool has_peepholes = false;
  bool is_batch_first = false;
  bool has_states = true;
  std::int64_t steps = 5;
  std::int64_t batch = 3;
  std::int64_t features = 4;
  std::int64_t hidden = 37;
};

// Small numbers, without which differences grow from step to step.
Tensor numbers(const Dims& dims, int seed) {
  const std::int64_t count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * 37 + seed * 11) % 23 - 11) / 40.0f);
  return Tensor::of_float(dims, values);
}

struct Model {
  Graph graph;
  std::vector<Tensor> inputs = {};
};

Model model_of(const Form& form) {
  GraphBuilder builder("net", 0, 17);
  const std::int64_t directions = form.direction == "bidirectional" ? 2 : 1;
  const std::int64_t gates = form.op == "LSTM" ? 4 : form.op == "GRU" ? 3 : 1;
  const std::int64_t rows = gates * form.hidden;
  const Dims source = form.is_batch_first ? Dims{form.batch, form.steps, form.features}
                                          : Dims{form.steps, form.batch, form.features};
  const Dims state = form.is_batch_first ? Dims{form.batch, directions, form.hidden}
                                         : Dims{directions, form.batch, form.hidden};
  std::vector<Tensor> given = {numbers(source, 1)};
  std::vector<ValueId> inputs(form.op == "LSTM" ? 8 : 6);
  inputs[0] = builder.input("x", DataType::Float32, given[0].shape());
  inputs[1] = builder.constant("w", numbers({directions, rows, form.features}, 2));
  inputs[2] = builder.constant("r", numbers({directions, rows, form.hidden}, 3));
  inputs[3] = builder.constant("b", numbers({directions, 2 * rows}, 4));
  if (!form.lengths.empty()) {
    given.push_back(Tensor::of<std::int32_t>(DataType::Int32, {form.batch}, form.lengths));
    inputs[4] = builder.input("lengths", DataType::Int32, given.back().shape());
  }
  if (form.has_states) {
    given.push_back(numbers(state, 5));
    inputs[5] = builder.input("h", DataType::Float32, given.back().shape());
    if (form.op == "LSTM") inputs[6] = builder.constant("c", numbers(state, 6));
  }
  if (form.has_peepholes)
    inputs[7] = builder.constant("p", numbers({directions, 3 * form.hidden}, 7));
  std::vector<Attribute> attributes = form.attributes;
  attributes.push_back({"direction", form.direction});
  attributes.push_back({"hidden_size", form.hidden});
  if (form.is_batch_first) attributes.push_back({"layout", std::int64_t{1}});
  const auto results =
      builder.node_with_outputs(form.op, "op", inputs, form.op == "LSTM" ? 3 : 2, attributes);
  for (std::size_t i = 0; i < results.size(); ++i)
    builder.output(results[i], "out" + std::to_string(i));
  return {builder.finish(), std::move(given)};
}

void expect_same(const Form& form, const std::string& what) {
  const Model model = model_of(form);
  expect_same_results(model.graph, model.inputs, form.op + " " + form.direction + " " + what, 2e-5);
}

class RecurrentForms : public testing::TestWithParam<const char*> {
 protected:
  Form form(const std::string& direction) const {
    const std::string name = GetParam();
    Form one{.op = name == "linear GRU" ? "GRU" : name, .direction = direction};
    if (name == "linear GRU") one.attributes = {{"linear_before_reset", std::int64_t{1}}};
    return one;
  }
};

constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};

TEST_P(RecurrentForms, SequencesHaveLengthsOfTheirOwn) {
  for (const char* direction : kDirections) {
    for (const std::vector<std::int32_t>& lengths :
         {std::vector<std::int32_t>{5, 5, 5}, {2, 5, 0}, {1, 3, 2}, {0, 0, 0}}) {
      for (const bool has_states : {false, true}) {
        Form one = form(direction);
        one.lengths = lengths;
        one.has_states = has_states;
        expect_same(one, "lengths");
      }
    }
  }
}

TEST_P(RecurrentForms, LengthsOutOfRangeAreRefusedAsByThePlainKernel) {
  for (const std::int32_t bad : {-1, 6}) {
    Form one = form("forward");
    one.lengths = {1, bad, 2};
    const Model model = model_of(one);
    EXPECT_NE(error_of(model.graph, model.inputs, "reference"), "");
    EXPECT_EQ(error_of(model.graph, model.inputs, "cpu"),
              error_of(model.graph, model.inputs, "reference"));
  }
}

TEST_P(RecurrentForms, BatchMayComeFirst) {
  for (const char* direction : kDirections) {
    Form one = form(direction);
    one.is_batch_first = true;
    expect_same(one, "layout 1");
    one.lengths = {4, 1, 5};
    expect_same(one, "layout 1 with lengths");
  }
}

std::vector<std::string> repeated(const std::vector<std::string>& names, int times) {
  std::vector<std::string> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), names.begin(), names.end());
  return all;
}

TEST_P(RecurrentForms, ActivationsMayBeOthers) {
  const std::vector<std::vector<std::string>> choices = {
      {"HardSigmoid", "Relu", "Softsign"}, {"sigmoid", "LeakyRelu", "Tanh"},
      {"Tanh", "Elu", "Affine"},           {"Softplus", "tanh", "Relu"},
      {"Sigmoid", "Tanh", "Tanh"},         {"ScaledTanh", "ThresholdedRelu", "Tanh"}};
  for (const char* direction : kDirections) {
    for (std::vector<std::string> names : choices) {
      Form one = form(direction);
      const std::size_t count = one.op == "LSTM" ? 3 : one.op == "GRU" ? 2 : 1;
      names.resize(count);
      const bool has_fast_form = names[0] != "ScaledTanh";
      one.attributes.push_back(
          {"activations", repeated(names, std::string(direction) == "bidirectional" ? 2 : 1)});
      one.attributes.push_back({"activation_alpha", std::vector<float>{0.3f, 0.2f}});
      if (has_fast_form) expect_same(one, names[0]);
      const Model model = model_of(one);
      EXPECT_EQ(error_of(model.graph, model.inputs, "cpu"), "") << names[0];
    }
  }
}

TEST_P(RecurrentForms, ActivationsMayBeClipped) {
  for (const char* direction : kDirections) {
    Form one = form(direction);
    one.attributes.push_back({"clip", 0.25f});
    expect_same(one, "clip");
  }
}

TEST_P(RecurrentForms, BatchesOfAnySizeAgree) {
  for (const std::int64_t batch : {1, 8, 17}) {
    Form one = form("bidirectional");
    one.batch = batch;
    for (std::int64_t i = 0; i < batch; ++i)
      one.lengths.push_back(static_cast<std::int32_t>(i % (one.steps + 1)));
    expect_same(one, "batch " + std::to_string(batch));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RecurrentForms, testing::Values("LSTM", "GRU", "linear GRU", "RNN"));

TEST(LstmForms, PeepholesAndCoupledGatesAgree) {
  for (const char* direction : kDirections) {
    for (const std::int64_t couples : {0, 1}) {
      Form one{.op = "LSTM",
               .direction = direction,
               .attributes = {{"input_forget", couples}},
               .has_peepholes = true};
      expect_same(one, "peepholes");
      one.has_peepholes = false;
      one.lengths = {5, 2, 3};
      expect_same(one, "coupled");
    }
  }
}

}  // namespace
}  // namespace assay
