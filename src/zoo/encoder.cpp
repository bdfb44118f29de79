// The encoder of the original transformer (Vaswani et al., 2017): norms after the sums, ReLU.
#include "base/fail.h"
#include "zoo/family.h"
#include "zoo/transformer.h"

namespace assay::zoo {

namespace {

ValueId append_layer(GraphBuilder& builder, ValueId tokens, const ZooSettings& settings,
                     const std::string& name) {
  const std::int64_t width = settings.at("width");
  const ValueId looked =
      self_attention(builder, tokens,
                     {.width = width, .heads = settings.at("heads"), .name = name + ".self_attn"});
  const ValueId attended =
      LayerNorm(width, name + ".norm1")(builder, residual(builder, name + ".add1", tokens, looked));
  const Layer think =
      Sequential({Linear(width, 4 * width, {.name = name + ".linear1"}), Relu(name + ".relu"),
                  Linear(4 * width, width, {.name = name + ".linear2"})});
  return LayerNorm(width, name + ".norm2")(
      builder, residual(builder, name + ".add2", attended, think(builder, attended)));
}

void check_heads(const ZooSettings& settings) {
  if (settings.at("width") % settings.at("heads") == 0) return;
  fail_bad_input("zoo model 'encoder': width={} is not a multiple of heads={}",
                 settings.at("width"), settings.at("heads"));
}

Graph build_encoder(const ZooSettings& settings) {
  check_heads(settings);
  GraphBuilder builder("encoder");
  ValueId tokens =
      builder.input("input", DataType::Float32,
                    Shape{settings.at("batch"), settings.at("length"), settings.at("width")});
  for (std::int64_t i = 0; i < settings.at("layers"); ++i) {
    tokens = append_layer(builder, tokens, settings, "layers." + std::to_string(i));
  }
  builder.output(tokens, "output");
  return builder.finish();
}

}  // namespace

// With all parameters at their largest, one run is 2⁶¹ FLOPs: no count overflows.
std::vector<ZooFamily> encoder_family() {
  return {{.entry = {.name = "encoder",
                     .summary = "transformer encoder, feed-forward of 4 × width",
                     .parameters = {batch_parameter(1024),
                                    size_parameter("layers", 4, 64, "encoder layers"),
                                    size_parameter("width", 256, 8192, "features of a token"),
                                    size_parameter("heads", 4, 1024,
                                                   "attention heads; divide the width"),
                                    size_parameter("length", 128, 16384, "tokens in a sample")}},
           .build = build_encoder}};
}

}  // namespace assay::zoo
