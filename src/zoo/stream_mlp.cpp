// The streaming model: normalise F features, project them, activate, decide. Its four operators are
// recognised by the prefixes of their nodes' names.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

// (x − mean) / √variance as a batch norm: its statistics are no parameters, and it can be folded
// into the projection that follows.
ValueId normalized(GraphBuilder& builder, ValueId input, std::int64_t features) {
  const std::string name = "input_normalization";
  const ValueId output = builder.node("BatchNormalization", name,
                                      {input, builder.filled(name + ".weight", {features}, 1.0f),
                                       builder.filled(name + ".bias", {features}, 0.0f),
                                       builder.weight(name + ".mean", {features}, 0.5),
                                       builder.filled(name + ".variance", {features}, 1.5f)},
                                      {{"epsilon", 1e-5f}});
  builder.set_rank(output, 2);
  return output;
}

Graph build_stream_mlp(const ZooSettings& settings) {
  const std::int64_t features = settings.at("features");
  const std::int64_t width = settings.at("width") > 0 ? settings.at("width") : features;
  GraphBuilder builder("stream_mlp");
  const ValueId input =
      builder.input("input", DataType::Float32, Shape{settings.at("batch"), features});
  const Layer decide =
      Sequential({Linear(features, width, {.name = "linear_projection"}), Relu("activation"),
                  Linear(width, 1, {.name = "decision_head"}), Sigmoid("decision_head.sigmoid")});
  builder.output(decide(builder, normalized(builder, input, features)), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> stream_mlp_family() {
  return {{.entry = {.name = "stream_mlp",
                     .summary = "normalise, project, activate, decide: streaming",
                     .parameters = {batch_parameter(),
                                    size_parameter("features", 64, 16384, "features of a sample"),
                                    {.name = "width",
                                     .standard = 0,
                                     .smallest = 0,
                                     .largest = 65536,
                                     .meaning = "of the projection; 0: as many as features"}}},
           .build = build_stream_mlp}};
}

}  // namespace assay::zoo
