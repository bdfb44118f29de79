// VGG-16 (Simonyan and Zisserman, 2014) for 224×224 images, without its dropouts, which do nothing
// at inference. Names are torchvision's: every layer of the feature stack is numbered by its
// position.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

std::string place(std::size_t number) {
  return "vgg_features." + std::to_string(number);
}

Layer vgg_features() {
  std::vector<Layer> layers;
  std::size_t number = 0;
  std::int64_t channels = 3;
  const struct {
    int convolutions;
    std::int64_t width;
  } stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  for (const auto& stage : stages) {
    for (int i = 0; i < stage.convolutions; ++i) {
      layers.push_back(Conv2d(channels, stage.width, 3, {.padding = 1, .name = place(number++)}));
      layers.push_back(Relu(place(number++)));
      channels = stage.width;
    }
    layers.push_back(MaxPool2d(2, {.name = place(number++)}));
  }
  return Sequential(std::move(layers));
}

Graph build_vgg16(const ZooSettings& settings) {
  GraphBuilder builder("vgg16");
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 3, 224, 224});
  const Layer network = Sequential(
      {vgg_features(), Flatten("flatten"), Linear(512 * 7 * 7, 4096, {.name = "classifier.0"}),
       Relu("classifier.1"), Linear(4096, 4096, {.name = "classifier.3"}), Relu("classifier.4"),
       Linear(4096, 1000, {.name = "classifier.6"})});
  builder.output(network(builder, input), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> vgg_family() {
  return {{.entry = {.name = "vgg16",
                     .summary = "VGG-16, 224×224 images, 1000 classes",
                     .parameters = {batch_parameter()}},
           .build = build_vgg16}};
}

}  // namespace assay::zoo
