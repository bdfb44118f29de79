// ViT-B/16 (Dosovitskiy et al., 2020) for 224×224 images, named as in torchvision.
#include "zoo/family.h"
#include "zoo/transformer.h"

namespace assay::zoo {

namespace {

constexpr std::int64_t kVitWidth = 768;
constexpr std::int64_t kVitHeads = 12;
constexpr std::int64_t kVitLayers = 12;
constexpr std::int64_t kPatches = 14 * 14;
constexpr float kEpsilon = 1e-6f;

// A standard deviation of 0.02, as such embeddings are usually drawn.
constexpr double kEmbeddingBound = 0.0346;

// [batch, 3, 224, 224] → [batch, 196, 768]
ValueId patches(GraphBuilder& builder, ValueId image) {
  const ValueId grid =
      Conv2d(3, kVitWidth, 16, {.stride = 16, .name = "conv_proj"})(builder, image);
  const ValueId shape = builder.ints("patches.shape", {0, kVitWidth, -1});
  const ValueId rows = builder.node("Reshape", "patches.rows", {grid, shape});
  return builder.node("Transpose", "patches", {rows},
                      {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
}

// The class token once for every sample of the batch, whatever the batch is.
ValueId class_tokens(GraphBuilder& builder, ValueId image) {
  const ValueId token = builder.weight("class_token", {1, 1, kVitWidth}, kEmbeddingBound);
  const ValueId batch = builder.node("Shape", "class_tokens.batch", {image},
                                     {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  const ValueId rest = builder.ints("class_tokens.rest", {1, kVitWidth});
  const ValueId shape =
      builder.node("Concat", "class_tokens.shape", {batch, rest}, {{"axis", std::int64_t{0}}});
  return builder.node("Expand", "class_tokens", {token, shape});
}

ValueId embedded(GraphBuilder& builder, ValueId image) {
  const ValueId tokens =
      builder.node("Concat", "tokens", {class_tokens(builder, image), patches(builder, image)},
                   {{"axis", std::int64_t{1}}});
  const ValueId positions =
      builder.weight("encoder.pos_embedding", {1, kPatches + 1, kVitWidth}, kEmbeddingBound);
  return residual(builder, "encoder.embedded", tokens, positions);
}

ValueId append_layer(GraphBuilder& builder, ValueId tokens, const std::string& name) {
  const ValueId looked =
      self_attention(builder, LayerNorm(kVitWidth, name + ".ln_1", kEpsilon)(builder, tokens),
                     {.width = kVitWidth, .heads = kVitHeads, .name = name + ".self_attention"});
  const ValueId attended = residual(builder, name + ".add_1", tokens, looked);
  const Layer think = Sequential({LayerNorm(kVitWidth, name + ".ln_2", kEpsilon),
                                  Linear(kVitWidth, 4 * kVitWidth, {.name = name + ".mlp.0"}),
                                  Gelu(name + ".mlp.1"),
                                  Linear(4 * kVitWidth, kVitWidth, {.name = name + ".mlp.3"})});
  return residual(builder, name + ".add_2", attended, think(builder, attended));
}

ValueId class_of(GraphBuilder& builder, ValueId tokens) {
  const ValueId first = builder.constant("class_index", Tensor::of_int64({}, {0}));
  const ValueId token =
      builder.node("Gather", "class_state", {tokens, first}, {{"axis", std::int64_t{1}}});
  builder.set_rank(token, 2);
  return Linear(kVitWidth, 1000, {.name = "heads.head"})(builder, token);
}

Graph build_vit_b16(const ZooSettings& settings) {
  GraphBuilder builder("vit_b16");
  const ValueId image =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), 3, 224, 224});
  ValueId tokens = embedded(builder, image);
  for (int i = 0; i < kVitLayers; ++i) {
    tokens = append_layer(builder, tokens, "encoder.layers.encoder_layer_" + std::to_string(i));
  }
  tokens = LayerNorm(kVitWidth, "encoder.ln", kEpsilon)(builder, tokens);
  builder.output(class_of(builder, tokens), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> vit_family() {
  return {{.entry = {.name = "vit_b16",
                     .summary = "ViT-B/16, 224×224 images, 1000 classes",
                     .parameters = {batch_parameter()}},
           .build = build_vit_b16}};
}

}  // namespace assay::zoo
