#include "assay/fit_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

std::string calibration_json(const Calibration& calibration) {
  JsonWriter json;
  json.field("schema", "assay.calibration/2");
  json.field("measured_at", calibration.measured_at);
  json.field("ceilings_of", calibration.ceilings_of);
  json.field("threads", calibration.threads);
  json.field("step_overhead_ms", calibration.step_overhead_ms);
  json.field("networks", calibration.network_count);
  json.field("disturbed", calibration.disturbed);
  json.begin_list("samples");
  for (const EfficiencySample& sample : calibration.samples) {
    json.item({{"family", sample.family},
               {"class", sample.op_class},
               {"flops", sample.flops},
               {"weight_bytes", sample.weight_bytes},
               {"activation_bytes", sample.activation_bytes},
               {"roof_ms", sample.roof_ms},
               {"time_ms", sample.time_ms}});
  }
  json.end_list();
  json.begin_list("held_out");
  for (const HeldOut& one : calibration.held_out) {
    json.item({{"model", one.model},
               {"measured_ms", one.measured_ms},
               {"estimated_ms", one.estimated_ms},
               {"bound_ms", one.bound_ms}});
  }
  json.end_list();
  return json.finish();
}

}  // namespace assay
