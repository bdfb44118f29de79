// Forms of ops that neither the conformance models nor the networks have: the GPU computes what the
// plain kernels compute, and leaves nothing to the host.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <tuple>

#include "assay/error.h"
#include "execute/compare_engines.h"
#include "execute/one_fused_node.h"
#include "gpu/fake_device.h"
#include "support/error_message.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

Tensor whole_numbers(const Ints& dims, const Ints& numbers) {
  return Tensor::of_int64(dims, numbers);
}

void expect_same_on_the_gpu(const Graph& graph, const std::vector<Tensor>& inputs,
                            const std::string& what, double tolerance = 1e-5) {
  fake_device();
  const Inferred model = infer_shapes(graph);
  const auto fast = compile(model, {.engine = kCudaEngine});
  const auto plain = compile(model, {.engine = "reference"});
  for (Program* program : {fast.get(), plain.get()}) {
    program->set_inputs(inputs);
    program->run();
    program->run();
  }
  const Difference difference = compare_results(fast->results(), plain->results());
  EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << what;
  EXPECT_LE(difference.largest, tolerance) << what << " " << difference.where;
  for (const StepInfo& step : fast->steps())
    EXPECT_EQ(step.device, "cuda") << what << " " << step.op << " " << step.fell_back;
}

void expect_same_on_the_gpu(OneFusedNode& node, const std::string& what, std::size_t outputs = 1) {
  expect_same_on_the_gpu(node.graph(outputs), node.inputs, what);
}

struct RecurrentForm {
  const char* op = "LSTM";
  const char* direction = "forward";
  bool has_lengths = false;
  bool has_states = true;
  std::vector<Attribute> attributes = {};
};

OneFusedNode recurrent(const RecurrentForm& form) {
  const std::int64_t gates = form.op == std::string("LSTM")  ? 4
                             : form.op == std::string("GRU") ? 3
                                                             : 1;
  const std::int64_t directions = form.direction == std::string("bidirectional") ? 2 : 1;
  constexpr std::int64_t kSteps = 4, kBatch = 5, kFeatures = 6, kHidden = 7;
  bool is_batch_first = false;
  OneFusedNode node(form.op, 3);
  node.standard().set("direction", std::string(form.direction)).set("hidden_size", kHidden);
  for (const Attribute& attribute : form.attributes) {
    node.set(attribute.name.c_str(), attribute.value);
    is_batch_first |= attribute.name == "layout";
  }
  node.floats(is_batch_first ? Ints{kBatch, kSteps, kFeatures} : Ints{kSteps, kBatch, kFeatures});
  node.weights({directions, gates * kHidden, kFeatures});
  node.weights({directions, gates * kHidden, kHidden}).weights({directions, 2 * gates * kHidden});
  if (form.has_lengths) {
    node.input(Tensor::of<std::int32_t>(DataType::Int32, {kBatch}, std::vector{4, 0, 2, 1, 3}));
  } else {
    node.missing();
  }
  if (!form.has_states) return node;
  const Ints state =
      is_batch_first ? Ints{kBatch, directions, kHidden} : Ints{directions, kBatch, kHidden};
  node.floats(state);
  if (gates == 4) node.floats(state).weights({directions, 3 * kHidden});
  return node;
}

TEST(CudaForms, OfRecurrentLayers) {
  const std::vector<RecurrentForm> forms = {
      {.op = "LSTM", .direction = "bidirectional", .has_lengths = true},
      {.op = "LSTM", .direction = "reverse", .attributes = {{"layout", std::int64_t{1}}}},
      {.op = "LSTM",
       .has_states = false,
       .attributes = {{"input_forget", std::int64_t{1}}, {"clip", 0.5f}}},
      {.op = "GRU", .direction = "bidirectional", .has_lengths = true},
      {.op = "GRU",
       .direction = "reverse",
       .has_lengths = true,
       .attributes = {{"linear_before_reset", std::int64_t{1}}}},
      {.op = "RNN",
       .direction = "bidirectional",
       .has_lengths = true,
       .attributes = {{"activations", std::vector<std::string>{"Relu", "Affine"}},
                      {"activation_alpha", std::vector<float>{0.5f}},
                      {"activation_beta", std::vector<float>{0.25f}}}}};
  for (const RecurrentForm& form : forms) {
    OneFusedNode node = recurrent(form);
    const std::string what = fmt::format("{} {}", form.op, form.direction);
    expect_same_on_the_gpu(node, what, form.op == std::string("LSTM") ? 3 : 2);
  }
}

OneFusedNode packed_product(std::int64_t rows, std::int64_t bits, std::int64_t block) {
  constexpr std::int64_t kDepth = 70, kColumns = 24;
  const std::int64_t blocks = (kDepth + block - 1) / block;
  OneFusedNode node("MatMulNBits", 5);
  node.set("K", kDepth).set("N", kColumns).set("bits", bits).set("block_size", block);
  node.floats({rows, kDepth});
  node.bytes<std::uint8_t>(DataType::UInt8, {kColumns, blocks, block * bits / 8}, true, 0, 255);
  node.weights({kColumns * blocks});
  return node;
}

TEST(CudaForms, OfProductsWithWeightsOfFewBits) {
  for (const auto& [rows, bits, block] :
       {std::tuple{1, 4, 32}, std::tuple{3, 8, 16}, std::tuple{70, 4, 32}, std::tuple{2, 2, 16}}) {
    OneFusedNode node = packed_product(rows, bits, block);
    expect_same_on_the_gpu(node, fmt::format("{} rows, {} bits", rows, bits));
  }
  OneFusedNode packed = packed_product(2, 4, 32);
  packed.bytes<std::uint8_t>(DataType::UInt8, {24 * 2}, true, 0, 255);
  packed.missing().weights({24});
  expect_same_on_the_gpu(packed, "packed zero points and a bias");
}

OneFusedNode with_targets(const char* op, const char* reduction, bool is_gradient) {
  OneFusedNode node(op, 7);
  node.set("reduction", std::string(reduction)).set("ignore_index", std::int64_t{1});
  node.floats({3, 5, 2}).input(whole_numbers({3, 2}, {0, 4, 1, 2, 3, 1})).floats({5});
  const bool reduces = std::string(reduction) != "none";
  if (is_gradient) node.own().floats(reduces ? Ints{} : Ints{3, 2});
  if (!is_gradient) node.standard();
  return node;
}

TEST(CudaForms, OfLossesAndTheirGradients) {
  for (const char* reduction : {"none", "sum", "mean"}) {
    for (const char* op : {"SoftmaxCrossEntropyGradient", "LikelihoodGradient"}) {
      OneFusedNode node = with_targets(op, reduction, true);
      expect_same_on_the_gpu(node, fmt::format("{} {}", op, reduction));
    }
    OneFusedNode node = with_targets("SoftmaxCrossEntropyLoss", reduction, false);
    expect_same_on_the_gpu(node, fmt::format("loss {}", reduction), 2);
  }
}

TEST(CudaForms, OfGradientsOfConvolutions) {
  const auto settings = [](OneFusedNode& node) {
    node.own().set("group", std::int64_t{2}).set("pads", Ints{1, 0, 2, 1});
    node.set("strides", Ints{2, 1}).set("dilations", Ints{1, 2}).set("kernel_shape", Ints{3, 2});
  };
  OneFusedNode input("ConvInputGradient");
  settings(input);
  input.set("input_dims", Ints{2, 4, 7, 8}).floats({2, 20, 4, 7}).floats({20, 2, 3, 2});
  expect_same_on_the_gpu(input, "input");
  OneFusedNode weight("ConvWeightGradient");
  settings(weight);
  weight.set("weight_dims", Ints{20, 2, 3, 2}).floats({2, 4, 7, 8}).floats({2, 20, 4, 7});
  expect_same_on_the_gpu(weight, "weight and bias", 2);
}

TEST(CudaForms, OfGradientsOfPools) {
  const auto settings = [](OneFusedNode& node) {
    node.own()
        .set("kernel_shape", Ints{3, 2})
        .set("strides", Ints{2, 1})
        .set("pads", Ints{1, 0, 1, 1});
  };
  OneFusedNode greatest("MaxPoolGradient");
  settings(greatest);
  greatest.floats({2, 3, 7, 5}).floats({2, 3, 4, 5});
  expect_same_on_the_gpu(greatest, "greatest");
  for (const std::int64_t counts : {0, 1}) {
    OneFusedNode average("AveragePoolGradient");
    settings(average);
    average.set("input_dims", Ints{2, 3, 7, 5}).set("count_include_pad", counts);
    average.floats({2, 3, 4, 5});
    expect_same_on_the_gpu(average, "average");
  }
}

TEST(CudaForms, OfOtherGradients) {
  OneFusedNode gather("GatherGradient");
  gather.own().set("axis", std::int64_t{1}).set("input_dims", Ints{2, 6, 3});
  gather.input(whole_numbers({4}, {5, 0, -1, 2})).floats({2, 4, 3});
  expect_same_on_the_gpu(gather, "gather");
  OneFusedNode slice("SliceGradient");
  slice.own().set("input_dims", Ints{7, 5}).set("starts", Ints{5, 0}).set("steps", Ints{-2, 3});
  slice.floats({3, 2});
  expect_same_on_the_gpu(slice, "slice");
  OneFusedNode norm("LayerNormalizationGradient");
  norm.own().set("axis", std::int64_t{-1}).floats({3, 4, 6}).floats({6}).floats({3, 4, 6});
  expect_same_on_the_gpu(norm, "layer norm", 3);
  OneFusedNode softmax("SoftmaxGradient");
  softmax.own().set("axis", std::int64_t{1}).floats({3, 4, 6}).floats({3, 4, 6});
  expect_same_on_the_gpu(softmax, "softmax");
  for (const char* form : {"none", "tanh"}) {
    OneFusedNode gelu("GeluGradient");
    gelu.own().set("approximate", std::string(form)).floats({3, 4}).floats({3, 4});
    expect_same_on_the_gpu(gelu, "gelu");
  }
}

TEST(CudaForms, OfOldSoftmaxesOverAllAxesFromOne) {
  OneFusedNode node("Softmax");
  node.standard().opset(11).set("axis", std::int64_t{1}).floats({2, 3, 4});
  expect_same_on_the_gpu(node, "softmax");
}

OneFusedNode quantized(const char* op, const Ints& dims) {
  OneFusedNode node(op, 9);
  const auto scale = [&](float number) { node.constant(Tensor::of_float({}, {number})); };
  const auto zero = [&](std::uint8_t number) {
    node.constant(Tensor::of<std::uint8_t>(DataType::UInt8, {}, std::vector{number}));
  };
  node.bytes<std::uint8_t>(DataType::UInt8, dims, false, 0, 255);
  scale(0.03f);
  zero(120);
  scale(0.011f);
  zero(5);
  return node;
}

TEST(CudaForms, OfQuantisedPoolsAndSoftmaxes) {
  OneFusedNode pool = quantized("QLinearAveragePool", {2, 6, 5, 3});
  pool.set("kernel_shape", Ints{3, 2})
      .set("pads", Ints{1, 0, 1, 1})
      .set("channels_last", std::int64_t{1});
  expect_same_on_the_gpu(pool.graph(), pool.inputs, "pool", 0);
  for (const std::int64_t channels_last : {0, 1}) {
    OneFusedNode all = quantized("QLinearGlobalAveragePool", {2, 6, 5, 3});
    all.set("channels_last", channels_last);
    expect_same_on_the_gpu(all.graph(), all.inputs, "global pool", 0);
  }
  OneFusedNode softmax = quantized("QLinearSoftmax", {4, 9});
  softmax.set("opset", std::int64_t{13}).set("axis", std::int64_t{-1});
  expect_same_on_the_gpu(softmax.graph(), softmax.inputs, "softmax", 0);
}

TEST(CudaForms, PickingRowsReadsThoseAlone) {
  fake_device();
  OneFusedNode node("Gather");
  node.standard().floats({100, 64}).input(whole_numbers({3}, {5, 99, 0}));
  const auto program = compile(infer_shapes(node.graph()), {.engine = kCudaEngine});
  ASSERT_EQ(program->steps().size(), 1u);
  EXPECT_EQ(program->steps()[0].bytes_read, 3 * 64 * 4 + 3 * 8);
  EXPECT_EQ(program->steps()[0].bytes_written, 3 * 64 * 4);
}

TEST(CudaForms, OfIndicesOutsideSayWhichAndReadNoMemoryOfOthers) {
  fake_device();
  for (const std::int64_t wrong : {1'000'000'000, -1'000'000'000}) {
    OneFusedNode node("Gather");
    node.standard().floats({4, 3}).input(whole_numbers({2}, {1, wrong}));
    const auto program = compile(infer_shapes(node.graph()), {.engine = kCudaEngine});
    program->set_inputs(node.inputs);
    EXPECT_EQ(error_message(ErrorKind::BadInput, [&] { program->run(); }),
              fmt::format("Gather 'fused': index {} is out of range for dimension 4", wrong));
  }
}

}  // namespace
}  // namespace assay
