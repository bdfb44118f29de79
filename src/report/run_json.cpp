#include "assay/run_report.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json output_json(const RunReport& report, std::size_t i) {
  const auto& [output, tensor, summary] = report.result.outputs[i];
  Json json = {{"name", output},
               {"type", name(tensor.type())},
               {"shape", shape_json(tensor.shape())},
               {"min", optional_json(summary.min)},
               {"max", optional_json(summary.max)},
               {"mean", optional_json(summary.mean)},
               {"nan_count", summary.nan_count},
               {"infinite_count", summary.infinite_count}};
  if (i < report.files.size()) json["file"] = report.files[i];
  return json;
}

Json check_json(const CheckedOutput& check) {
  const TensorDifference& difference = check.difference;
  const bool was_compared = difference.mismatch.empty();
  Json json = {{"output", check.output},
               {"expected_file", check.expected_file},
               {"agrees", difference.agrees()},
               {"mismatch", was_compared ? Json(nullptr) : Json(difference.mismatch)}};
  json["largest_absolute_error"] = was_compared ? Json(difference.largest_absolute) : Json(nullptr);
  json["largest_relative_error"] = was_compared ? Json(difference.largest_relative) : Json(nullptr);
  json["elements_outside"] = was_compared ? Json(difference.differing) : Json(nullptr);
  return json;
}

Json check_list(const RunReport& report) {
  if (report.checks.empty()) return nullptr;
  Json outputs = Json::array();
  for (const auto& check : report.checks) outputs.push_back(check_json(check));
  return {{"rtol", report.tolerance.relative},
          {"atol", report.tolerance.absolute},
          {"outputs", std::move(outputs)}};
}

}  // namespace

std::string run_json(const RunReport& report) {
  const RunResult& result = report.result;
  JsonWriter json;
  json.field("schema", "assay.run/1");
  json.field("provenance", "measured");
  json.field("model", model_json(result.model));
  Json options = {{"engine", result.program.engine},
                  {"threads", result.program.cpu.threads},
                  {"seed", result.seed}};
  if (const std::string precision = asked_precision(result.program); !precision.empty())
    options["precision"] = precision;
  json.field("options", options);
  json.field("compile_ms", result.compile_ms);
  json.field("run_ms", result.run_ms);
  json.begin_list("outputs");
  for (std::size_t i = 0; i < result.outputs.size(); ++i) json.item(output_json(report, i));
  json.end_list();
  json.field("check", check_list(report));
  json.field("warnings", result.warnings);
  return json.finish();
}

}  // namespace assay
