#include "assay/compare_report.h"
#include "report/compare_impact.h"
#include "report/compare_words.h"
#include "report/hardware_columns.h"

namespace assay {

using namespace assay::report;

namespace {

template <typename Numbers>
Json each_json(const std::vector<ProcessSamples>& processes, Numbers ProcessSamples::*member) {
  Json all = Json::array();
  for (const auto& process : processes) all.push_back(process.*member);
  return all;
}

Json side_json(const ComparedSide& side, double median_ms) {
  const StoredProfile& profile = side.profile;
  return {{"model", profile.model},
          {"median_ms", median_ms},
          {"batch", profile.batch},
          {"threads", profile.threads},
          {"parameters", profile.parameters},
          {"flops", profile.flops},
          {"peak_memory_bytes", profile.peak_memory_bytes},
          {"peak_rss_growth_bytes", optional_json(profile.peak_rss_growth_bytes)},
          {"processes_ms", each_json(side.processes, &ProcessSamples::values)},
          {"turn_ends", each_json(side.processes, &ProcessSamples::turn_ends)}};
}

}  // namespace

std::string compare_json(const ModelComparison& comparison) {
  const Comparison& result = comparison.result;
  JsonWriter json;
  json.field("schema", "assay.compare/1");
  json.field("provenance", "measured");
  json.field("interrupted", comparison.interrupted);
  json.field("verdict", name(result.verdict));
  json.field("meaning", verdict_words(result));
  json.field("ratio", result.ratio);
  json.field("ci95_low", result.ci95_low);
  json.field("ci95_high", result.ci95_high);
  json.field("threshold", comparison.threshold);
  json.field("pairs", result.pairs);
  json.field("interleaved", comparison.interleaved);
  json.field("a", side_json(comparison.a, result.median_a));
  json.field("b", side_json(comparison.b, result.median_b));
  const auto impact = impact_of(comparison);
  json.field("impact", impact ? impact_json(*impact) : Json(nullptr));
  json.field("warnings", comparison.warnings);
  return json.finish();
}

}  // namespace assay
