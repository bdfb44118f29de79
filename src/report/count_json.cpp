#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "assay/count_report.h"
#include "report/count_columns.h"

namespace assay {

namespace {

using Json = nlohmann::ordered_json;

Json shape_json(const std::optional<Shape>& shape) {
  if (!shape) return nullptr;
  Json dims = Json::array();
  for (const Dim& dim : *shape) {
    if (dim.is_known()) {
      dims.push_back(dim.value());
    } else if (dim.is_symbol()) {
      dims.push_back(dim.symbol_name());
    } else {
      dims.push_back(nullptr);
    }
  }
  return dims;
}

Json value_json(const Value& value) {
  return {{"name", value.name},
          {"type", name(value.type.element)},
          {"shape", shape_json(value.type.shape)}};
}

Json values_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(value_json(value));
  return list;
}

Json model_json(const CountResult& result) {
  Json model = {{"name", result.model.name},
                {"opset", result.model.opset},
                {"inputs", values_json(result.model.inputs)},
                {"outputs", values_json(result.model.outputs)}};
  if (result.model.sha256) model["sha256"] = *result.model.sha256;
  return model;
}

Json uncounted_json(const CountResult& result) {
  Json list = Json::array();
  for (const auto& one : result.cost.uncounted) {
    list.push_back({{"op", one.op}, {"node", one.node}, {"reason", one.reason}});
  }
  return list;
}

Json totals_json(const CountResult& result) {
  const CostTotals& totals = result.cost.totals;
  return {{"parameters", totals.parameters},
          {"macs", totals.macs},
          {"effective_macs", totals.effective_macs},
          {"flops", totals.flops},
          {"bytes_read", totals.bytes_read},
          {"bytes_written", totals.bytes_written},
          {"parameter_bytes", totals.parameter_bytes},
          {"activation_bytes", totals.activation_bytes},
          {"peak_activation_bytes", result.memory.peak_activation_bytes},
          {"statistics", totals.statistics},
          {"statistics_bytes", totals.statistics_bytes},
          {"constants", totals.constants},
          {"constants_bytes", totals.constants_bytes},
          {"stored_bytes", result.memory.stored_bytes},
          {"uncounted", uncounted_json(result)}};
}

// An unknown cost is null, never 0.
Json layer_json(const LayerCost& layer, const CostTotals& totals) {
  Json json = {
      {"name", layer.name}, {"op", layer.op}, {"output_shape", shape_json(layer.output_shape)}};
  const bool unknown = layer.answer == Answer::Unknown;
  for (const auto& column : figure_columns()) {
    const bool is_stored =
        column.figure == &LayerCost::parameters || column.figure == &LayerCost::parameter_bytes;
    if (unknown && !is_stored) {
      json[column.name] = nullptr;
    } else {
      json[column.name] = layer.*column.figure;
    }
  }
  if (unknown) {
    json["share"] = nullptr;
  } else {
    json["share"] = share_of(layer, totals);
  }
  json["answer"] = name(layer.answer);
  if (!layer.note.empty()) json["note"] = layer.note;
  return json;
}

Json memory_json(const MemorySummary& memory) {
  return {{"stored_bytes", memory.stored_bytes},
          {"peak_activation_bytes", memory.peak_activation_bytes},
          {"lower_bound_bytes", memory.lower_bound_bytes},
          {"computed_weight_bytes", memory.computed_weight_bytes},
          {"steps", memory.steps},
          {"live_bytes", memory.live_bytes},
          {"unplanned", memory.unplanned}};
}

// Names in a file may be anything; bytes that are not UTF-8 are replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

// Layers are written one by one: a tree of 100,000 of them would cost more than counting them.
std::string count_json(const CountResult& result, const CountTableOptions& options) {
  std::string text = fmt::format(
      R"({{"schema":"assay.count/1","provenance":"counted","model":{},"precision":{},"totals":{},"layers":[)",
      text_of(model_json(result)), result.stored_as ? text_of(name(*result.stored_as)) : "null",
      text_of(totals_json(result)));
  bool is_first = true;
  for (const LayerCost* layer : chosen_layers(result, options, false)) {
    text += is_first ? "\n" : ",\n";
    text += text_of(layer_json(*layer, result.cost.totals));
    is_first = false;
  }
  text += fmt::format("\n],\"memory\":{},\"warnings\":{}}}\n", text_of(memory_json(result.memory)),
                      text_of(Json(result.warnings)));
  return text;
}

}  // namespace assay
