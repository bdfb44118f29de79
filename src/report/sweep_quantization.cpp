#include "report/sweep_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json quantized_tensor_json(const QuantizedTensor& tensor) {
  return {{"layer", tensor.layer},
          {"type", tensor.type},
          {"scale", tensor.scale},
          {"zero_point", tensor.zero_point}};
}

}  // namespace

// A line for each layer: with a scale for each channel they are long.
std::string report::quantization_metadata_json(const QuantizationMetadata& metadata) {
  JsonWriter json;
  json.field("schema", "assay.sweep_quantization/1");
  json.field("pruning_level", metadata.pruning_level);
  json.field("precision", "int8");
  json.field("method", metadata.method);
  json.field("calibration_batches", metadata.calibration_batches);
  json.field("calibration_samples", metadata.calibration_samples);
  json.begin_list("layers");
  for (const QuantizedTensor& tensor : metadata.layers) json.item(quantized_tensor_json(tensor));
  json.end_list();
  json.field("warnings", metadata.warnings);
  return json.finish();
}

}  // namespace assay
