// Runs a model a given number of times and prints its algorithms: what bench/arm64/instructions.py
// counts the instructions of. Equal convolutions in a row are made here:
// conv:CHANNELS:SIZE:KERNEL:GROUPS:LAYERS, half:… of float16 numbers, int8:… of 8-bit numbers.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "assay/assay.h"
#include "convolution_sizes.h"

namespace assay {
namespace {

using bench::ConvolutionSizes;

std::vector<Attribute> attributes_of(const ConvolutionSizes& sizes) {
  const std::int64_t pad = sizes.kernel / 2;
  return {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}, {"group", sizes.groups}};
}

Shape image_of(const ConvolutionSizes& sizes) {
  return {1, sizes.channels, sizes.size, sizes.size};
}

Graph convolutions(const ConvolutionSizes& sizes) {
  GraphBuilder builder("convolutions");
  ValueId value = builder.input("x", DataType::Float32, image_of(sizes));
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    const ValueId weight = builder.weight(
        name + ".weight",
        {sizes.channels, sizes.channels / sizes.groups, sizes.kernel, sizes.kernel}, 0.1);
    value = builder.node("Conv", name, {value, weight}, attributes_of(sizes));
  }
  builder.output(value, "y");
  return builder.finish();
}

Tensor signed_weights(const ConvolutionSizes& sizes) {
  std::vector<std::int8_t> numbers;
  for (std::int64_t i = 0; i < sizes.weights(); ++i)
    numbers.push_back(static_cast<std::int8_t>(i * 37 % 255 - 127));
  return Tensor::of<std::int8_t>(
      DataType::Int8, {sizes.channels, sizes.channels / sizes.groups, sizes.kernel, sizes.kernel},
      numbers);
}

Graph convolutions_of_bytes(const ConvolutionSizes& sizes) {
  GraphBuilder builder("convolutions of 8-bit numbers");
  ValueId value = builder.input("x", DataType::UInt8, image_of(sizes));
  const ValueId scale = builder.scalar("scale", 0.02f);
  const ValueId weight_scale = builder.scalar("weight_scale", 0.01f);
  const ValueId zero = builder.constant(
      "zero", Tensor::of<std::uint8_t>(DataType::UInt8, {}, std::vector<std::uint8_t>{120}));
  const ValueId weight_zero = builder.constant(
      "weight_zero", Tensor::of<std::int8_t>(DataType::Int8, {}, std::vector<std::int8_t>{0}));
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    const ValueId weight = builder.constant(name + ".weight", signed_weights(sizes));
    value = builder.node("QLinearConv", name,
                         {value, scale, zero, weight, weight_scale, weight_zero, scale, zero},
                         attributes_of(sizes));
  }
  builder.output(value, "y");
  return builder.finish();
}

Graph model_named(const std::string& name) {
  if (const auto sizes = bench::sizes_of(name))
    return sizes->kind == "int8" ? convolutions_of_bytes(*sizes) : convolutions(*sizes);
  return name.starts_with("zoo:") ? zoo_model(name.substr(4)) : read_onnx(name);
}

void run(const std::string& name, const std::string& tuning, int runs) {
  ProgramOptions options;
  options.cpu.threads = 1;
  options.tuning_file = tuning;
  if (name.starts_with("half:")) options.precision = DataType::Float16;
  const auto program = compile(infer_shapes(model_named(name)), options);
  const auto inputs = random_inputs(program->inputs());
  program->set_inputs(inputs);
  for (int i = 0; i < runs; ++i) program->run();
  for (const StepInfo& step : program->steps())
    std::printf("%s\t%s\n", step.op.c_str(), step.algorithm.c_str());
}

}  // namespace
}  // namespace assay

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s MODEL TUNING_FILE RUNS\n", words[0]);
    return 2;
  }
  assay::run(words[1], words[2], std::atoi(words[3]));
  return 0;
}
