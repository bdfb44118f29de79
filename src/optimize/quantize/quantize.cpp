#include "assay/quantize.h"

#include "base/fail.h"
#include "optimize/quantize/calibrated_model.h"
#include "transform/quantize/dynamic.h"
#include "transform/quantize/prepare.h"

namespace assay {

namespace {

std::optional<QuantizeResult> quantized_already(const Graph& model) {
  const auto why = transform::why_already_quantized(model);
  if (!why) return {};
  QuantizeResult kept{.graph = model};
  kept.warnings.push_back(
      fmt::format("the model is quantised already ({}) and stays as it is", *why));
  return kept;
}

}  // namespace

std::string_view name(CalibrationMethod method) {
  switch (method) {
    case CalibrationMethod::Percentile:
      return "percentile";
    case CalibrationMethod::Mse:
      return "mse";
    case CalibrationMethod::Entropy:
      return "entropy";
    case CalibrationMethod::MinMax:
      break;
  }
  return "minmax";
}

CalibrationMethod calibration_method(std::string_view wanted) {
  for (const auto method : {CalibrationMethod::MinMax, CalibrationMethod::Percentile,
                            CalibrationMethod::Mse, CalibrationMethod::Entropy}) {
    if (name(method) == wanted) return method;
  }
  fail_usage("there is no calibration method '{}'; choose minmax, percentile, mse or entropy",
             wanted);
}

QuantizeResult quantize_model(const Graph& model, const CalibrationData& data,
                              const QuantizeOptions& options, Progress* progress) {
  if (auto kept = quantized_already(model)) return *std::move(kept);
  return optimize::CalibratedModel(model, data, options, progress).quantized({});
}

std::vector<std::string> quantizable_layers(const Graph& model) {
  if (transform::why_already_quantized(model)) return {};
  const Graph graph = transform::prepared_to_quantize(model);
  std::vector<std::string> names;
  for (const auto& layer : transform::plan_quantization(graph).layers) {
    if (layer.why_float.empty()) names.push_back(graph.node(layer.node).name);
  }
  return names;
}

QuantizeResult quantize_dynamic(const Graph& model, const QuantizeOptions& options) {
  if (auto kept = quantized_already(model)) return *std::move(kept);
  transform::DynamicGraph written = transform::write_dynamic(
      model, {.per_channel = options.per_channel,
              .keep_float = {options.keep_float.begin(), options.keep_float.end()}});
  QuantizeResult result{.graph = std::move(written.graph)};
  for (auto& layer : written.layers)
    result.layers.push_back({.name = std::move(layer.name),
                             .op = std::move(layer.op),
                             .type = layer.why_float.empty() ? "int8" : "fp32",
                             .weight_scales = std::move(layer.weight_scales),
                             .why_float = std::move(layer.why_float)});
  return result;
}

}  // namespace assay
