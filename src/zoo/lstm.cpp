// One LSTM layer over a sequence, batch first, so that axis 0 is the batch as everywhere else.
#include <cmath>

#include "assay/builder.h"
#include "zoo/family.h"

namespace assay::zoo {

namespace {

// Input and output of ONNX's LSTM have the time axis first. Its own batch-first layout is not
// supported everywhere; a Transpose is.
ValueId axes_swapped(GraphBuilder& builder, const std::string& name, ValueId value) {
  return builder.node("Transpose", name, {value}, {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
}

Graph build_lstm(const ZooSettings& settings) {
  const std::int64_t inputs = settings.at("inputs");
  const std::int64_t hidden = settings.at("hidden");
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  GraphBuilder builder("lstm");
  const ValueId sequence = builder.input(
      "input", DataType::Float32, Shape{settings.at("batch"), settings.at("length"), inputs});

  // Four gates: input, output, forget, cell. B holds a bias for W and one for R.
  const ValueId time_first = axes_swapped(builder, "time_first", sequence);
  const ValueId states =
      builder.node("LSTM", "lstm",
                   {time_first, builder.weight("lstm.W", {1, 4 * hidden, inputs}, bound),
                    builder.weight("lstm.R", {1, 4 * hidden, hidden}, bound),
                    builder.weight("lstm.B", {1, 8 * hidden}, bound)},
                   {{"hidden_size", hidden}});
  const ValueId one_direction =
      builder.node("Squeeze", "one_direction", {states, builder.ints("direction_axis", {1})});
  builder.output(axes_swapped(builder, "batch_first", one_direction), "output");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> lstm_family() {
  return {{.entry = {.name = "lstm",
                     .summary = "one LSTM layer over a sequence",
                     .parameters = {batch_parameter(4096),
                                    size_parameter("length", 64, 16384, "time steps"),
                                    size_parameter("inputs", 128, 8192, "features of a time step"),
                                    size_parameter("hidden", 256, 8192, "hidden units")}},
           .build = build_lstm}};
}

}  // namespace assay::zoo
