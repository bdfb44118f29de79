#include "assay/count_report.h"
#include "report/count_columns.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json row_json(const LayerCost& layer, const CostTotals& totals, const DisplayNames& names) {
  Json json = layer_json(layer, names);
  if (layer.answer == Answer::Unknown) {
    json["share"] = nullptr;
  } else {
    json["share"] = share_of(layer, totals);
  }
  json["answer"] = name(layer.answer);
  if (!layer.note.empty()) json["note"] = layer.note;
  return json;
}

// Layers added up by module or by op; `layers` of the report has them one by one.
void add_groups(JsonWriter& json, const CountResult& result, const CountTableOptions& options) {
  json.field("group_by", options.rows == CountRows::Ops ? "op" : "module");
  json.begin_list("groups");
  for (const CountRow& row : chosen_rows(result, options, false)) {
    Json group = {{"name", row.cost.name}, {"layers", row.layers}};
    for (const auto& column : figure_columns()) group[column.name] = row.cost.*column.figure;
    group["share"] = share_of(row.cost, result.cost.totals);
    json.item(group);
  }
  json.end_list();
}

Json memory_json(const MemorySummary& memory) {
  return {{"stored_bytes", memory.stored_bytes},
          {"peak_activation_bytes", memory.peak_activation_bytes},
          {"lower_bound_bytes", memory.lower_bound_bytes},
          {"computed_weight_bytes", memory.computed_weight_bytes},
          {"steps", memory.steps},
          {"live_bytes", memory.live_bytes},
          {"unplanned", memory.unplanned},
          {"buffers", buffers_json(memory.buffers)}};
}

}  // namespace

std::string count_json(const CountResult& result, const CountTableOptions& options) {
  CountTableOptions ungrouped = options;
  ungrouped.rows = CountRows::Layers;
  if (options.rows != CountRows::Layers) ungrouped.top = {};
  JsonWriter json;
  json.field("schema", "assay.count/1");
  json.field("provenance", "counted");
  json.field("model", model_json(result.model));
  json.field("precision", result.stored_as ? Json(name(*result.stored_as)) : Json(nullptr));
  json.field("totals", totals_json(result.cost.totals, result.memory.peak_activation_bytes,
                                   result.memory.stored_bytes, result.cost.uncounted));
  const DisplayNames names = display_names(result);
  json.begin_list("layers");
  for (const CountRow& row : chosen_rows(result, ungrouped, false)) {
    json.item(row_json(row.cost, result.cost.totals, names));
  }
  json.end_list();
  if (options.rows != CountRows::Layers) add_groups(json, result, options);
  json.field("memory", memory_json(result.memory));
  json.field("edges", edges_json(result.model.edges));
  json.field("warnings", result.warnings);
  return json.finish();
}

}  // namespace assay
