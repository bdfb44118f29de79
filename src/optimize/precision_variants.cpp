#include "assay/precision_variants.h"

#include <algorithm>

#include "assay/bind.h"
#include "assay/precision.h"
#include "assay/quantize.h"
#include "base/fail.h"

namespace assay {

namespace {

constexpr std::size_t kCalibrationBatches = 4;

// Of the model's inputs as they are bound: values drawn at random, or as given.
CalibrationData random_calibration(const Graph& bound, const RunOptions& run,
                                   std::uint64_t first_seed) {
  std::vector<Value> inputs;
  for (const ValueId id : bound.inputs()) inputs.push_back(bound.value(id));
  std::vector<std::vector<Tensor>> batches;
  for (std::size_t i = 0; i < kCalibrationBatches; ++i) {
    std::vector<Tensor> batch = random_inputs(inputs, first_seed + i);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const auto given = run.inputs.find(inputs[k].name);
      if (given != run.inputs.end()) batch[k] = given->second;
    }
    batches.push_back(std::move(batch));
  }
  CalibrationData data = calibration_data(std::move(batches));
  data.source = "random inputs";
  return data;
}

PrecisionVariant quantized(const Graph& model, const RunOptions& run, const StudyOptions& options) {
  const Graph bound = bind_inputs(model, run.bindings).graph;
  QuantizeOptions quantize;
  quantize.program = options.program;
  QuantizeResult result =
      quantize_model(bound, random_calibration(bound, run, options.seed), quantize);
  const bool is_any = std::ranges::any_of(
      result.layers, [](const QuantizedLayer& layer) { return layer.type == "int8"; });
  if (!is_any) fail_bad_input("no layer of the model can be quantised");
  return {"int8", std::move(result.graph), {}};
}

}  // namespace

std::vector<PrecisionVariant> precision_variants(const Graph& model, const RunOptions& run,
                                                 const std::vector<std::string>& precisions,
                                                 const StudyOptions& options,
                                                 std::vector<std::string>& warnings) {
  std::vector<PrecisionVariant> variants;
  for (const std::string& precision : precisions) {
    const DataType type = float_precision(precision);
    if (precision != "int8") {
      variants.push_back({precision, model, type});
      continue;
    }
    try {
      variants.push_back(quantized(model, run, options));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      warnings.push_back(std::string("int8 is left out: ") + error.what());
    }
  }
  if (variants.empty()) fail_bad_input("the model has none of the precisions");
  return variants;
}

}  // namespace assay
