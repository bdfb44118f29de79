// ResNet-18 and ResNet-50 (He et al., 2015) for 224×224 images, in the form torchvision gives them:
// version 1.5, where the 3×3 convolution of a bottleneck carries the stride.
#include <array>

#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

// Batch norms without trained statistics give a branch the variance of its shortcut, so that every
// block would double it. A scale of 1/4 adds 1/16 instead.
constexpr float kBranchScale = 0.25f;

struct BlockOptions {
  std::int64_t in_channels = 0;
  std::int64_t width = 0;
  std::int64_t stride = 1;
  std::string name;
};

struct ResNetOptions {
  std::string name;
  std::array<int, 4> blocks = {};
  std::int64_t expansion = 1;  // output channels of a block for each of its width
  Layer (*branch)(const BlockOptions&) = nullptr;
};

Layer conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride, const std::string& name) {
  return Conv2d(in, out, 3, {.stride = stride, .padding = 1, .bias = false, .name = name});
}

Layer conv1x1(std::int64_t in, std::int64_t out, std::int64_t stride, const std::string& name) {
  return Conv2d(in, out, 1, {.stride = stride, .bias = false, .name = name});
}

Layer basic_branch(const BlockOptions& block) {
  const std::string& name = block.name;
  return Sequential({conv3x3(block.in_channels, block.width, block.stride, name + ".conv1"),
                     BatchNorm2d(block.width, name + ".bn1"), Relu(name + ".relu1"),
                     conv3x3(block.width, block.width, 1, name + ".conv2"),
                     BatchNorm2d(block.width, name + ".bn2", kBranchScale)});
}

Layer bottleneck_branch(const BlockOptions& block) {
  const std::string& name = block.name;
  const std::int64_t out_channels = 4 * block.width;
  return Sequential({conv1x1(block.in_channels, block.width, 1, name + ".conv1"),
                     BatchNorm2d(block.width, name + ".bn1"), Relu(name + ".relu1"),
                     conv3x3(block.width, block.width, block.stride, name + ".conv2"),
                     BatchNorm2d(block.width, name + ".bn2"), Relu(name + ".relu2"),
                     conv1x1(block.width, out_channels, 1, name + ".conv3"),
                     BatchNorm2d(out_channels, name + ".bn3", kBranchScale)});
}

// The input itself, or projected where the block changes its size.
ValueId shortcut(GraphBuilder& builder, ValueId input, const BlockOptions& block,
                 std::int64_t out_channels) {
  if (block.stride == 1 && block.in_channels == out_channels) return input;
  const std::string name = block.name + ".downsample";
  return Sequential({conv1x1(block.in_channels, out_channels, block.stride, name + ".0"),
                     BatchNorm2d(out_channels, name + ".1")})(builder, input);
}

ValueId append_block(GraphBuilder& builder, ValueId input, const BlockOptions& block,
                     const ResNetOptions& options) {
  const ValueId branch = options.branch(block)(builder, input);
  const ValueId straight = shortcut(builder, input, block, options.expansion * block.width);
  const ValueId sum = builder.node("Add", block.name + ".add", {branch, straight});
  return Relu(block.name + ".relu")(builder, sum);
}

ValueId append_stages(GraphBuilder& builder, ValueId value, const ResNetOptions& options) {
  std::int64_t channels = 64;
  for (std::size_t stage = 0; stage < options.blocks.size(); ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (int index = 0; index < options.blocks[stage]; ++index) {
      const BlockOptions block{
          .in_channels = channels,
          .width = width,
          .stride = stage > 0 && index == 0 ? 2 : 1,
          .name = "layer" + std::to_string(stage + 1) + "." + std::to_string(index)};
      value = append_block(builder, value, block, options);
      channels = options.expansion * width;
    }
  }
  return value;
}

Graph build_resnet(const ResNetOptions& options, const ZooSettings& settings) {
  GraphBuilder builder(options.name);
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 3, 224, 224});
  const Layer stem =
      Sequential({Conv2d(3, 64, 7, {.stride = 2, .padding = 3, .bias = false, .name = "conv1"}),
                  BatchNorm2d(64, "bn1"), Relu("relu"),
                  MaxPool2d(3, {.stride = 2, .padding = 1, .name = "maxpool"})});
  const Layer head = Sequential({GlobalAvgPool2d("avgpool"), Flatten("flatten"),
                                 Linear(512 * options.expansion, 1000, {.name = "fc"})});
  builder.output(head(builder, append_stages(builder, stem(builder, input), options)), "output");
  return builder.finish();
}

Graph build_resnet18(const ZooSettings& settings) {
  return build_resnet(
      {.name = "resnet18", .blocks = {2, 2, 2, 2}, .expansion = 1, .branch = basic_branch},
      settings);
}

Graph build_resnet50(const ZooSettings& settings) {
  return build_resnet(
      {.name = "resnet50", .blocks = {3, 4, 6, 3}, .expansion = 4, .branch = bottleneck_branch},
      settings);
}

}  // namespace

std::vector<ZooFamily> resnet_family() {
  return {{.entry = {.name = "resnet18",
                     .summary = "ResNet-18, 224×224 images, 1000 classes",
                     .parameters = {batch_parameter()}},
           .build = build_resnet18},
          {.entry = {.name = "resnet50",
                     .summary = "ResNet-50 v1.5, 224×224 images, 1000 classes",
                     .parameters = {batch_parameter()}},
           .build = build_resnet50}};
}

}  // namespace assay::zoo
