// Two convolutions for 28×28 images, read out by one wide or one narrow linear layer.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

Layer small_cnn_features() {
  return Sequential({Conv2d(1, 16, 3, {.padding = 1, .name = "conv1"}), Relu("relu1"),
                     MaxPool2d(2, {.name = "pool1"}),
                     Conv2d(16, 32, 3, {.padding = 1, .name = "conv2"}), Relu("relu2"),
                     MaxPool2d(2, {.name = "pool2"})});
}

Graph build_with(const std::string& name, const Layer& read_out, const ZooSettings& settings) {
  GraphBuilder builder(name);
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 1, 28, 28});
  builder.output(read_out(builder, small_cnn_features()(builder, input)), "output");
  return builder.finish();
}

Graph build_small_cnn(const ZooSettings& settings) {
  const Layer read_out =
      Sequential({Flatten("flatten"), Linear(32 * 7 * 7, 10, {.name = "classifier"})});
  return build_with("small_cnn", read_out, settings);
}

// The second max pool stays: the average is over 7×7 positions.
Graph build_small_cnn_gap(const ZooSettings& settings) {
  const Layer read_out = Sequential(
      {GlobalAvgPool2d("global_pool"), Flatten("flatten"), Linear(32, 10, {.name = "classifier"})});
  return build_with("small_cnn_gap", read_out, settings);
}

}  // namespace

std::vector<ZooFamily> small_cnn_family() {
  return {{.entry = {.name = "small_cnn",
                     .summary = "two convolutions and a linear layer, 28×28",
                     .parameters = {batch_parameter()}},
           .build = build_small_cnn},
          {.entry = {.name = "small_cnn_gap",
                     .summary = "small_cnn with a global average pool",
                     .parameters = {batch_parameter()}},
           .build = build_small_cnn_gap}};
}

}  // namespace assay::zoo
