#include "cli/calibration_networks.h"

#include "assay/bind.h"
#include "assay/layers.h"
#include "assay/zoo.h"

namespace assay::cli {

namespace {

CalibrationNetwork probe(const std::string& name, Shape input, const std::function<Graph()>& make) {
  return {name, "probes",
          [input, make] {
            Bindings bindings;
            Graph graph = make();
            bindings.input_shapes[graph.value(graph.inputs()[0]).name] = input;
            return bind_inputs(std::move(graph), bindings).graph;
          },
          false};
}

// A layer that narrows, then two of different kernels side by side.
Layer branched(std::int64_t inputs, std::int64_t narrow, std::int64_t wide) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const ValueId squeezed = Sequential({Conv2d(inputs, narrow, 1), Relu()})(builder, input);
    const ValueId one = Sequential({Conv2d(narrow, wide, 1), Relu()})(builder, squeezed);
    const ValueId three =
        Sequential({Conv2d(narrow, wide, 3, {.padding = 1}), Relu()})(builder, squeezed);
    return builder.node("Concat", "concat", {one, three}, {{"axis", std::int64_t{1}}});
  });
}

// Norm, activation and convolution in that order, the result beside the input.
Layer grown(std::int64_t inputs) {
  constexpr std::int64_t kMore = 32;
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const ValueId more = Sequential({BatchNorm2d(inputs), Relu(), Conv2d(inputs, 4 * kMore, 1),
                                     BatchNorm2d(4 * kMore), Relu(),
                                     Conv2d(4 * kMore, kMore, 3, {.padding = 1})})(builder, input);
    return builder.node("Concat", "concat", {input, more}, {{"axis", std::int64_t{1}}});
  });
}

// Widened, depthwise, scaled channel by channel, narrowed, added to the input.
Layer excited(std::int64_t channels, std::int64_t wide) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const ValueId inside =
        Sequential({Conv2d(channels, wide, 1), Relu(),
                    Conv2d(wide, wide, 5, {.padding = 2, .groups = wide}), Relu()})(builder, input);
    const ValueId scale = Sequential({GlobalAvgPool2d(), Conv2d(wide, wide / 4, 1), Relu(),
                                      Conv2d(wide / 4, wide, 1), Sigmoid()})(builder, inside);
    const ValueId scaled = builder.node("Mul", "scale", {inside, scale});
    const ValueId narrowed = Conv2d(wide, channels, 1)(builder, scaled);
    return builder.node("Add", "add", {input, narrowed});
  });
}

Layer grouped(std::int64_t inputs, std::int64_t outputs) {
  return Sequential({Conv2d(inputs, outputs, 1), Relu(),
                     Conv2d(outputs, outputs, 3, {.padding = 1, .groups = outputs / 16}), Relu(),
                     Conv2d(outputs, outputs, 1), Relu()});
}

// Layers of sizes that the networks lack: large products of few samples, wide images, recurrence.
std::vector<CalibrationNetwork> probes() {
  const auto linears = [] {
    return Graph(Sequential({Linear(2048, 8192), Relu(), Linear(8192, 2048), Linear(2048, 512),
                             Linear(512, 4096), Linear(4096, 64)}));
  };
  const auto images = [] {
    const Conv2dOptions padded{.padding = 1};
    return Graph(
        Sequential({Conv2d(16, 64, 3, padded), Relu(), Conv2d(64, 64, 3, padded), Relu(),
                    MaxPool2d(2), Conv2d(64, 128, 3, padded), Relu(), Conv2d(128, 128, 3, padded),
                    Relu(), MaxPool2d(2), Conv2d(128, 256, 5, {.padding = 2}), Relu(),
                    Conv2d(256, 256, 3, padded), Relu(), GlobalAvgPool2d()}));
  };
  const auto small_images = [] {
    return Graph(Sequential({Conv2d(3, 8, 5), Relu(), MaxPool2d(2), Conv2d(8, 24, 5), Relu(),
                             AvgPool2d(2), Conv2d(24, 64, 3), Relu(), GlobalAvgPool2d()}));
  };
  const auto branches = [] {
    return Graph(Sequential({Conv2d(3, 64, 3, {.stride = 2}), Relu(), MaxPool2d(2),
                             branched(64, 16, 64), branched(128, 32, 96), MaxPool2d(2),
                             branched(192, 48, 192), branched(384, 64, 256), GlobalAvgPool2d()}));
  };
  const auto dense_block = [] {
    return Graph(Sequential({grown(32), grown(64), grown(96), grown(128), MaxPool2d(2), grown(160),
                             grown(192), grown(224), GlobalAvgPool2d()}));
  };
  const auto excitation = [] {
    return Graph(
        Sequential({excited(32, 128), excited(32, 192), grouped(32, 64), MaxPool2d(2),
                    excited(64, 384), grouped(64, 128), excited(128, 512), GlobalAvgPool2d()}));
  };
  return {probe("linear layers", {1, 2048}, linears),
          probe("linear layers, batch 32", {32, 2048}, linears),
          probe("wide images", {1, 16, 192, 192}, images),
          probe("small images", {1, 3, 32, 32}, small_images),
          probe("branches", {1, 3, 112, 112}, branches),
          probe("dense block", {1, 32, 56, 56}, dense_block),
          probe("excitation and groups", {1, 32, 56, 56}, excitation),
          {"lstm:length=32,inputs=64,hidden=384", "probes",
           [] { return zoo_model("lstm:length=32,inputs=64,hidden=384"); }, false}};
}

}  // namespace

// Networks of every kind, small and large, at more than one batch size.
std::vector<CalibrationNetwork> calibration_networks() {
  std::vector<CalibrationNetwork> all;
  for (const char* name : {"mlp", "mlp:batch=64", "small_cnn", "small_cnn_gap:batch=32", "lenet5",
                           "stream_mlp", "lstm", "encoder", "mobilenet_v2", "mobilenet_v2:batch=8",
                           "resnet18", "resnet50", "vgg16", "vit_b16", "gpt2_small"}) {
    const std::string text = name;
    std::string family = text.substr(0, text.find(':'));
    if (family == "small_cnn_gap") family = "small_cnn";
    all.push_back({text, family, [text] { return zoo_model(text); }});
  }
  for (auto& probe : probes()) all.push_back(std::move(probe));
  return all;
}

}  // namespace assay::cli
