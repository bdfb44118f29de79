// Linear layers of one width: the plainest network whose cost grows with a single number.
#include "assay/layers.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

Graph build_dense(const ZooSettings& settings) {
  const std::int64_t width = settings.at("width");
  GraphBuilder builder("dense");
  ValueId value = builder.input("input", DataType::Float32, Shape{settings.at("batch"), width});
  for (std::int64_t i = 1; i <= settings.at("layers"); ++i) {
    const std::string number = std::to_string(i);
    if (i > 1) value = Relu("relu" + number)(builder, value);
    value = Linear(width, width, {.name = "fc" + number})(builder, value);
  }
  builder.output(value, "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> dense_family() {
  return {{.entry = {.name = "dense",
                     .summary = "linear layers of one width",
                     .parameters = {batch_parameter(),
                                    size_parameter("width", 256, 16384, "features of every layer"),
                                    size_parameter("layers", 1, 1000, "linear layers")}},
           .build = build_dense}};
}

}  // namespace assay::zoo
