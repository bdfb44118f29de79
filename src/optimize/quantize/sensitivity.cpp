#include "optimize/quantize/sensitivity.h"

#include "assay/quantize.h"
#include "base/fail.h"
#include "optimize/quantize/model_runs.h"

namespace assay::optimize {

std::vector<LayerSensitivity> sensitivities_of(const CalibratedModel& model,
                                               const CalibrationData& data,
                                               const QuantizeOptions& options, Progress* progress) {
  ProgramOptions untuned = options.program;  // every variant runs only once
  untuned.optimize_for = OptimizeFor::Memory;
  const RowsOfOutputs real = first_outputs(model.float_graph(), data, untuned);
  std::vector<LayerSensitivity> result;
  const auto layers = model.quantized({}).layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].why_float.empty()) continue;
    if (progress != nullptr) {
      progress->report(static_cast<double>(i) / static_cast<double>(layers.size()), layers[i].name);
      if (progress->cancelled())
        throw Error(ErrorKind::Cancelled, "measuring sensitivity was cancelled");
    }
    const Graph alone = model.quantized({.only = {layers[i].name}}).graph;
    LayerSensitivity found{.layer = layers[i].name, .op = layers[i].op};
    compare_outputs(real, first_outputs(alone, data, untuned).outputs, found);
    result.push_back(std::move(found));
  }
  return result;
}

}  // namespace assay::optimize
