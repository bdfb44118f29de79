// Reads the output of calibration_json. The file is untrusted: every field is checked.
#include "assay/stored_calibration.h"
#include "store/json_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr ResultKind kCalibration = {
    .name = "calibration", .schema = "assay.calibration/2", .command = "assay fit"};

}  // namespace

Calibration parse_calibration_json(std::string_view text, const std::string& described_as) {
  const StoredResult file(text, described_as, kCalibration);
  const JsonReader reader = file.reader();
  Calibration calibration{.measured_at = reader.text("measured_at"),
                          .ceilings_of = reader.text("ceilings_of"),
                          .threads = reader.small_count("threads"),
                          .step_overhead_ms = reader.at_least_zero("step_overhead_ms"),
                          .network_count = reader.small_count("networks"),
                          .disturbed = reader.texts("disturbed")};
  reader.each("samples", [&](const JsonReader& sample) {
    calibration.samples.push_back({.family = sample.text("family"),
                                   .op_class = sample.text("class"),
                                   .flops = sample.at_least_zero("flops"),
                                   .weight_bytes = sample.at_least_zero("weight_bytes"),
                                   .activation_bytes = sample.at_least_zero("activation_bytes"),
                                   .roof_ms = sample.at_least_zero("roof_ms"),
                                   .time_ms = sample.at_least_zero("time_ms")});
  });
  reader.each("held_out", [&](const JsonReader& one) {
    calibration.held_out.push_back({.model = one.text("model"),
                                    .measured_ms = one.rate("measured_ms"),
                                    .estimated_ms = one.rate("estimated_ms"),
                                    .bound_ms = one.at_least_zero("bound_ms")});
  });
  return calibration;
}

}  // namespace assay
