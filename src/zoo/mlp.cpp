// The classic multi-layer perceptron for 28×28 images.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

Graph build_mlp(const ZooSettings& settings) {
  GraphBuilder builder("mlp");
  const ValueId input = builder.input("input", DataType::Float32, Shape{settings.at("batch"), 784});
  const Layer network = Sequential({Linear(784, 256, {.name = "fc1"}), Relu("relu1"),
                                    Linear(256, 128, {.name = "fc2"}), Relu("relu2"),
                                    Linear(128, 10, {.name = "fc3"})});
  builder.output(network(builder, input), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> mlp_family() {
  return {{.entry = {.name = "mlp",
                     .summary = "multi-layer perceptron 784-256-128-10",
                     .parameters = {batch_parameter()}},
           .build = build_mlp}};
}

}  // namespace assay::zoo
