// Runs a model a given number of times and prints its algorithms: what bench/arm64/instructions.py
// counts the instructions of. Equal convolutions in a row are made here:
// conv:CHANNELS:SIZE:KERNEL:GROUPS:LAYERS.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "assay/assay.h"

namespace assay {
namespace {

Graph convolutions(const std::string& sizes) {
  std::istringstream words(sizes);
  std::int64_t channels = 0, size = 0, kernel = 0, groups = 0, layers = 0;
  char colon = 0;
  words >> channels >> colon >> size >> colon >> kernel >> colon >> groups >> colon >> layers;
  GraphBuilder builder("convolutions");
  ValueId value = builder.input("x", DataType::Float32, Shape{1, channels, size, size});
  const std::int64_t pad = kernel / 2;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "conv" + std::to_string(i);
    const ValueId weight =
        builder.weight(name + ".weight", {channels, channels / groups, kernel, kernel}, 0.1);
    value =
        builder.node("Conv", name, {value, weight},
                     {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}, {"group", groups}});
  }
  builder.output(value, "y");
  return builder.finish();
}

Graph model_named(const std::string& name) {
  if (name.starts_with("conv:")) return convolutions(name.substr(5));
  return name.starts_with("zoo:") ? zoo_model(name.substr(4)) : read_onnx(name);
}

void run(const std::string& name, const std::string& tuning, int runs) {
  ProgramOptions options;
  options.cpu.threads = 1;
  options.tuning_file = tuning;
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
