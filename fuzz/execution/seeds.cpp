#include "execution/seeds.h"

#include <algorithm>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/cost.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/training_step.h"
#include "assay/zoo.h"
#include "execution/quantized_seeds.h"

namespace assay::fuzz {

namespace {

constexpr const char* kNetworks[] = {"mlp", "small_cnn", "small_cnn_gap"};

std::vector<std::filesystem::path> model_files(const std::filesystem::path& testdata) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(testdata / "node")) {
    const auto file = entry.path() / "model.onnx";
    if (std::filesystem::exists(file)) files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

void add_files(std::vector<Seed>& seeds, const std::filesystem::path& testdata) {
  for (const auto& file : model_files(testdata)) {
    try {
      seeds.push_back({file.parent_path().filename().string(), read_onnx(file)});
    } catch (const Error&) {
      // Some tests are about what the reader refuses by name.
    }
  }
}

// The step of training as a model of its own: its ops may stand in a file as well.
Graph step_of(const std::string& network) {
  const Inferred model = infer_shapes(bind_inputs(zoo_model(network), {.batch = 2}).graph);
  return training_step(model, trainable_parameters(model), {.loss = Loss::CrossEntropy}).graph;
}

void add_networks(std::vector<Seed>& seeds) {
  for (const char* network : kNetworks) {
    seeds.push_back({network, bind_inputs(zoo_model(network), {.batch = 2}).graph});
    seeds.push_back({std::string(network) + "/training", step_of(network)});
  }
}

ValueId convolution(GraphBuilder& builder, const std::string& name, ValueId x, std::int64_t from,
                    std::int64_t to) {
  return builder.node("Conv", name, {x, builder.filled(name + ".weight", {to, from, 3, 3}, 0.1f)},
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
}

// Convolution, batch norm, activation, residual sum, pooling, and a classifier.
Graph residual_block(const std::string& activation) {
  GraphBuilder builder("residual_" + activation);
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3, 6, 6});
  const ValueId first = convolution(builder, "first", x, 3, 4);
  const ValueId norm =
      builder.node("BatchNormalization", "norm",
                   {first, builder.filled("scale", {4}, 1.0f), builder.filled("bias", {4}, 0.0f),
                    builder.filled("mean", {4}, 0.0f), builder.filled("variance", {4}, 1.0f)});
  const ValueId active = builder.node(activation, "activation", {norm});
  const ValueId second = convolution(builder, "second", active, 4, 4);
  const ValueId sum = builder.node("Add", "sum", {second, first});
  const ValueId pooled = builder.node("GlobalAveragePool", "pool", {sum});
  const ValueId flat = builder.node("Flatten", "flat", {pooled});
  const ValueId scores =
      builder.node("Gemm", "scores", {flat, builder.filled("classes", {4, 5}, 0.2f)});
  builder.output(builder.node("Softmax", "softmax", {scores}), "y");
  return builder.finish();
}

// Projections, scores, and what they weigh, with the transposes an exporter writes.
Graph attention() {
  GraphBuilder builder("attention");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 4, 8});
  const auto projected = [&](const std::string& name) {
    const ValueId weight = builder.filled(name + ".weight", {8, 8}, 0.1f);
    const ValueId product = builder.node("MatMul", name, {x, weight});
    const ValueId split = builder.node("Reshape", name + ".split",
                                       {product, builder.ints(name + ".shape", {0, 0, 2, 4})});
    return builder.node("Transpose", name + ".heads", {split},
                        {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  };
  const ValueId query = projected("query");
  const ValueId key = builder.node("Transpose", "key.transposed", {projected("key")},
                                   {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const ValueId scores = builder.node("MatMul", "scores", {query, key});
  const ValueId scaled = builder.node("Mul", "scaled", {scores, builder.filled("scale", {}, 0.5f)});
  const ValueId weights = builder.node("Softmax", "weights", {scaled}, {{"axis", std::int64_t{3}}});
  const ValueId mixed = builder.node("MatMul", "mixed", {weights, projected("value")});
  builder.output(builder.node("Transpose", "y", {mixed}), "out");
  return builder.finish();
}

void add_chains(std::vector<Seed>& seeds) {
  for (const char* activation : {"Relu", "Sigmoid", "HardSwish", "LeakyRelu", "Tanh"})
    seeds.push_back({std::string("residual_") + activation, residual_block(activation)});
  seeds.push_back({"attention", attention()});
  seeds.push_back({"quantized_uint8", quantized_block(DataType::UInt8)});
  seeds.push_back({"quantized_int8", quantized_block(DataType::Int8)});
  seeds.push_back({"quantized_dynamically", dynamically_quantized_product()});
}

}  // namespace

std::vector<Seed> all_seeds(const std::filesystem::path& testdata) {
  std::vector<Seed> seeds;
  add_files(seeds, testdata);
  add_networks(seeds);
  add_chains(seeds);
  return seeds;
}

}  // namespace assay::fuzz
