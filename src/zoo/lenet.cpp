// LeNet-5 for 28×28 images (LeCun et al., 1998), with dense connections in its second convolution.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

Graph build_lenet5(const ZooSettings& settings) {
  GraphBuilder builder("lenet5");
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 1, 28, 28});
  const Layer network = Sequential(
      {Conv2d(1, 6, 5, {.padding = 2, .name = "conv1"}), Tanh("tanh1"),
       AvgPool2d(2, {.name = "pool1"}), Conv2d(6, 16, 5, {.name = "conv2"}), Tanh("tanh2"),
       AvgPool2d(2, {.name = "pool2"}), Flatten("flatten"), Linear(400, 120, {.name = "fc1"}),
       Tanh("tanh3"), Linear(120, 84, {.name = "fc2"}), Tanh("tanh4"),
       Linear(84, 10, {.name = "fc3"})});
  builder.output(network(builder, input), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> lenet_family() {
  return {{.entry = {.name = "lenet5",
                     .summary = "LeNet-5, 28×28 grey images",
                     .parameters = {batch_parameter()}},
           .build = build_lenet5}};
}

}  // namespace assay::zoo
