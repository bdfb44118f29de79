// MobileNetV2 (Sandler et al., 2018) for 224×224 images, named as in torchvision.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

// Keeps activations small without trained statistics: a projection feeds an expansion with no
// activation between, which would double the variance each time.
constexpr float kProjectionScale = 0.5f;

struct InvertedResidual {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t expansion = 1;
  std::int64_t stride = 1;
  std::string name;
};

struct ConvolutionOptions {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::string name;
};

Layer conv_norm_relu6(std::int64_t in, std::int64_t out, const ConvolutionOptions& options) {
  const std::string& name = options.name;
  return Sequential({Conv2d(in, out, options.kernel,
                            {.stride = options.stride,
                             .padding = options.kernel / 2,
                             .groups = options.groups,
                             .bias = false,
                             .name = name + ".0"}),
                     BatchNorm2d(out, name + ".1"), Relu6(name + ".2")});
}

Layer branch(const InvertedResidual& block) {
  std::vector<Layer> layers;
  int number = 0;
  const auto place = [&] { return block.name + ".conv." + std::to_string(number++); };
  const std::int64_t hidden = block.expansion * block.in_channels;
  if (block.expansion != 1) {
    layers.push_back(conv_norm_relu6(block.in_channels, hidden, {.name = place()}));
  }
  layers.push_back(conv_norm_relu6(
      hidden, hidden, {.kernel = 3, .stride = block.stride, .groups = hidden, .name = place()}));
  layers.push_back(Conv2d(hidden, block.out_channels, 1, {.bias = false, .name = place()}));
  layers.push_back(BatchNorm2d(block.out_channels, place(), kProjectionScale));
  return Sequential(std::move(layers));
}

ValueId append_block(GraphBuilder& builder, ValueId input, const InvertedResidual& block) {
  const ValueId output = branch(block)(builder, input);
  const bool keeps_size = block.stride == 1 && block.in_channels == block.out_channels;
  if (!keeps_size) return output;
  const ValueId sum = builder.node("Add", block.name + ".add", {input, output});
  builder.set_rank(sum, 4);
  return sum;
}

ValueId append_blocks(GraphBuilder& builder, ValueId value) {
  const struct {
    std::int64_t expansion, channels;
    int repeats;
    std::int64_t stride;
  } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::int64_t channels = 32;
  int number = 1;
  for (const auto& stage : stages) {
    for (int i = 0; i < stage.repeats; ++i) {
      value = append_block(builder, value,
                           {.in_channels = channels,
                            .out_channels = stage.channels,
                            .expansion = stage.expansion,
                            .stride = i == 0 ? stage.stride : 1,
                            .name = "features." + std::to_string(number++)});
      channels = stage.channels;
    }
  }
  return value;
}

Graph build_mobilenet_v2(const ZooSettings& settings) {
  GraphBuilder builder("mobilenet_v2");
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 3, 224, 224});
  const Layer stem = conv_norm_relu6(3, 32, {.kernel = 3, .stride = 2, .name = "features.0"});
  const Layer head =
      Sequential({conv_norm_relu6(320, 1280, {.name = "features.18"}), GlobalAvgPool2d("avgpool"),
                  Flatten("flatten"), Linear(1280, 1000, {.name = "classifier.1"})});
  builder.output(head(builder, append_blocks(builder, stem(builder, input))), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> mobilenet_family() {
  return {{.entry = {.name = "mobilenet_v2",
                     .summary = "MobileNetV2, 224×224 images, 1000 classes",
                     .parameters = {batch_parameter()}},
           .build = build_mobilenet_v2}};
}

}  // namespace assay::zoo
