// Reads the output of calibration_json. The file is untrusted: every field is checked.
#include "assay/stored_calibration.h"
#include "store/json_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr std::string_view kCalibrationSchema = "assay.calibration/1";
constexpr std::string_view kCalibrationCommand = "assay fit";

double amount(const JsonReader& reader, const char* path) {
  const report::Json& value = reader.at(path);
  if (!value.is_number() || value.get<double>() < 0) reader.refuse(path, "a number from 0 on");
  return value.get<double>();
}

}  // namespace

Calibration parse_calibration_json(std::string_view text, const std::string& described_as) {
  const report::Json root = parsed_json(text, described_as, kCalibrationCommand);
  const JsonReader reader(root, described_as);
  reader.check_schema(kCalibrationSchema, "calibration", kCalibrationCommand);
  Calibration calibration{.measured_at = reader.text("measured_at"),
                          .ceilings_of = reader.text("ceilings_of"),
                          .threads = reader.small_count("threads"),
                          .step_overhead_ms = amount(reader, "step_overhead_ms"),
                          .disturbed = reader.texts("disturbed")};
  reader.each("samples", [&](const JsonReader& sample) {
    calibration.samples.push_back({.family = sample.text("family"),
                                   .op_class = sample.text("class"),
                                   .flops = amount(sample, "flops"),
                                   .weight_bytes = amount(sample, "weight_bytes"),
                                   .activation_bytes = amount(sample, "activation_bytes"),
                                   .roof_ms = amount(sample, "roof_ms"),
                                   .time_ms = amount(sample, "time_ms")});
  });
  reader.each("held_out", [&](const JsonReader& one) {
    calibration.held_out.push_back({.model = one.text("model"),
                                    .measured_ms = one.rate("measured_ms"),
                                    .estimated_ms = one.rate("estimated_ms"),
                                    .bound_ms = amount(one, "bound_ms")});
  });
  return calibration;
}

}  // namespace assay
