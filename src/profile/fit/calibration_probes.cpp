// Layers of sizes and kinds that the built-in networks lack, as small networks of their own.
#include "profile/fit/calibration_probes.h"
#include "assay/bind.h"
#include "assay/layers.h"
#include "assay/zoo.h"

namespace assay::profile {

namespace {

constexpr const char* kFamily = "probes";

CalibrationNetwork probe(const std::string& name, const Shape& input,
                         const std::function<Graph()>& make) {
  return {name, kFamily,
          [input, make] {
            Bindings bindings;
            Graph graph = make();
            bindings.input_shapes[graph.value(graph.inputs()[0]).name] = input;
            return bind_inputs(std::move(graph), bindings).graph;
          },
          false};
}

CalibrationNetwork zoo_probe(const std::string& name, const std::string& family) {
  return {name, family, [name] { return zoo_model(name); }, false};
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

Layer grouped(std::int64_t inputs, std::int64_t outputs, std::int64_t group = 16) {
  return Sequential({Conv2d(inputs, outputs, 1), Relu(),
                     Conv2d(outputs, outputs, 3, {.padding = 1, .groups = outputs / group}), Relu(),
                     Conv2d(outputs, outputs, 1), Relu()});
}

// Rows, columns and squares of a kernel side by side, one of them after a pool that keeps the size.
Layer inception(std::int64_t inputs, std::int64_t narrow, std::int64_t wide, const Layer& pool) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const auto kernel = [&](std::int64_t height, std::int64_t width, ValueId from) {
      const std::vector<std::int64_t> pads = {height / 2, width / 2, height / 2, width / 2};
      const ValueId weight = builder.weight("weight", {narrow, narrow, height, width}, 0.1);
      return Relu()(builder, builder.node("Conv", "conv", {from, weight}, {{"pads", pads}}));
    };
    const ValueId one = Sequential({Conv2d(inputs, wide, 1), Relu()})(builder, input);
    const ValueId squeezed = Sequential({Conv2d(inputs, narrow, 1), Relu()})(builder, input);
    const ValueId both = kernel(7, 1, kernel(1, 7, squeezed));
    const ValueId five = kernel(5, 5, squeezed);
    const ValueId pooled = Sequential({pool, Conv2d(inputs, narrow, 1), Relu()})(builder, input);
    return builder.node("Concat", "concat", {one, both, five, pooled}, {{"axis", std::int64_t{1}}});
  });
}

// Half of the channels pass by; then the channels of both halves in turn.
Layer shuffled(std::int64_t channels) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const std::int64_t half = channels / 2;
    const ValueId sizes = builder.ints("sizes", {half, half});
    const auto halves =
        builder.node_with_outputs("Split", "split", {input, sizes}, 2, {{"axis", std::int64_t{1}}});
    const ValueId through = Sequential({Conv2d(half, half, 1), Relu(),
                                        Conv2d(half, half, 3, {.padding = 1, .groups = half}),
                                        Conv2d(half, half, 1), Relu()})(builder, halves[1]);
    const ValueId both =
        builder.node("Concat", "concat", {halves[0], through}, {{"axis", std::int64_t{1}}});
    // Rows and columns as one axis: it comes back as long as it was.
    const ValueId apart =
        builder.node("Reshape", "apart", {both, builder.ints("apart.shape", {0, 2, half, -1})});
    const ValueId transposed = builder.node("Transpose", "transposed", {apart},
                                            {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    const ValueId shape = builder.node("Shape", "shape", {input});
    return builder.node("Reshape", "together", {transposed, shape});
  });
}

// A wide depthwise kernel, then two linear layers over the channels, which must lie last for them.
Layer mixed(std::int64_t channels) {
  return Layer([=](GraphBuilder& builder, ValueId input) {
    const auto transposed = [&](ValueId value, std::vector<std::int64_t> order) {
      return builder.node("Transpose", "turn", {value}, {{"perm", std::move(order)}});
    };
    const Layer depthwise = Conv2d(channels, channels, 7, {.padding = 3, .groups = channels});
    const ValueId last = transposed(depthwise(builder, input), {0, 2, 3, 1});
    const ValueId wide = Sequential({LayerNorm(channels), Linear(channels, 4 * channels), Gelu(),
                                     Linear(4 * channels, channels)})(builder, last);
    const ValueId scale = builder.weight("scale", {channels}, 0.1);
    const ValueId scaled = builder.node("Mul", "scaled", {wide, scale});
    return builder.node("Add", "add", {transposed(scaled, {0, 3, 1, 2}), input});
  });
}

}  // namespace

std::vector<CalibrationNetwork> calibration_probes() {
  const auto linears = [] {
    return Graph(Sequential({Linear(2048, 8192), Relu(), Linear(8192, 2048), Linear(2048, 512),
                             Linear(512, 4096), Linear(4096, 8192), Linear(8192, 64)}));
  };
  const auto images = [] {
    const Conv2dOptions padded{.padding = 1};
    return Graph(
        Sequential({Conv2d(16, 64, 3, padded), Relu(), Conv2d(64, 64, 3, padded), Relu(),
                    MaxPool2d(2), Conv2d(64, 128, 3, padded), Relu(), Conv2d(128, 128, 3, padded),
                    Relu(), MaxPool2d(2), Conv2d(128, 256, 5, {.padding = 2}), Relu(),
                    Conv2d(256, 256, 3, padded), Relu(), GlobalAvgPool2d()}));
  };
  const auto deep_images = [] {
    const Conv2dOptions padded{.padding = 1};
    return Graph(Sequential({Conv2d(256, 512, 3, padded), Relu(), Conv2d(512, 512, 3, padded),
                             Relu(), MaxPool2d(2), Conv2d(512, 512, 3, padded), Relu(),
                             Conv2d(512, 256, 3, padded), Relu(), GlobalAvgPool2d()}));
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
  const auto narrow_groups = [] {
    return Graph(Sequential({grouped(32, 128, 4), MaxPool2d(2), grouped(128, 256, 8), MaxPool2d(2),
                             grouped(256, 512, 16), grouped(512, 512, 32), GlobalAvgPool2d()}));
  };
  const auto inceptions = [] {
    const PoolOptions same{.stride = 1, .padding = 1};
    return Graph(Sequential({inception(192, 64, 64, MaxPool2d(3, same)),
                             inception(256, 64, 128, AvgPool2d(3, same)), MaxPool2d(2),
                             inception(320, 96, 192, MaxPool2d(3, same)),
                             inception(480, 128, 256, AvgPool2d(3, same)), GlobalAvgPool2d()}));
  };
  const auto shuffles = [] {
    return Graph(Sequential({shuffled(64), shuffled(64), MaxPool2d(2), Conv2d(64, 160, 1),
                             shuffled(160), shuffled(160), MaxPool2d(2), Conv2d(160, 320, 1),
                             shuffled(320), GlobalAvgPool2d()}));
  };
  const auto mixers = [] {
    return Graph(Sequential({mixed(80), mixed(80), Conv2d(80, 160, 2, {.stride = 2}), mixed(160),
                             Conv2d(160, 320, 2, {.stride = 2}), mixed(320), GlobalAvgPool2d()}));
  };
  return {probe("linear layers", {1, 2048}, linears),
          probe("linear layers, batch 32", {32, 2048}, linears),
          probe("wide images", {1, 16, 192, 192}, images),
          probe("deep images", {1, 256, 28, 28}, deep_images),
          probe("small images", {1, 3, 32, 32}, small_images),
          probe("branches", {1, 3, 112, 112}, branches),
          probe("dense block", {1, 32, 56, 56}, dense_block),
          probe("excitation and groups", {1, 32, 56, 56}, excitation),
          probe("narrow groups", {1, 32, 56, 56}, narrow_groups),
          probe("four kernels", {1, 192, 28, 28}, inceptions),
          probe("mixed channels", {1, 80, 48, 48}, mixers),
          probe("shuffled channels", {1, 64, 56, 56}, shuffles),
          zoo_probe("encoder:batch=64,layers=2,width=96,heads=3,length=49", "encoder"),
          zoo_probe("encoder:batch=4,layers=1,width=384,heads=12,length=49", "encoder"),
          zoo_probe("lstm:length=32,inputs=64,hidden=384", kFamily)};
}

}  // namespace assay::profile
