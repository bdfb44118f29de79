#include "report/json_parts.h"

#include "report/count_columns.h"

namespace assay::report {

namespace {

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

Json uncounted_json(const std::vector<UncountedOp>& uncounted) {
  Json list = Json::array();
  for (const auto& one : uncounted) {
    list.push_back({{"op", one.op}, {"node", one.node}, {"reason", one.reason}});
  }
  return list;
}

}  // namespace

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

Json model_json(const ModelSummary& model) {
  Json json = {{"name", model.name},
               {"opset", model.opset},
               {"inputs", values_json(model.inputs)},
               {"outputs", values_json(model.outputs)}};
  if (model.sha256) json["sha256"] = *model.sha256;
  return json;
}

Json edges_json(const std::vector<ModelEdge>& edges) {
  Json list = Json::array();
  for (const ModelEdge& edge : edges) list.push_back({edge.from, edge.to});
  return list;
}

Json buffers_json(const std::vector<NamedBuffer>& buffers) {
  Json list = Json::array();
  for (const NamedBuffer& buffer : buffers) {
    list.push_back({{"name", buffer.name.empty() ? Json(nullptr) : Json(buffer.name)},
                    {"bytes", buffer.bytes},
                    {"offset", buffer.offset},
                    {"first_step", buffer.first_step},
                    {"last_step", buffer.last_step}});
  }
  return list;
}

Json totals_json(const CostTotals& totals, std::int64_t peak_activation_bytes,
                 std::int64_t stored_bytes, const std::vector<UncountedOp>& uncounted) {
  return {{"parameters", totals.parameters},
          {"macs", totals.macs},
          {"effective_macs", totals.effective_macs},
          {"flops", totals.flops},
          {"bytes_read", totals.bytes_read},
          {"bytes_written", totals.bytes_written},
          {"parameter_bytes", totals.parameter_bytes},
          {"activation_bytes", totals.activation_bytes},
          {"peak_activation_bytes", peak_activation_bytes},
          {"statistics", totals.statistics},
          {"statistics_bytes", totals.statistics_bytes},
          {"constants", totals.constants},
          {"constants_bytes", totals.constants_bytes},
          {"stored_bytes", stored_bytes},
          {"uncounted", uncounted_json(uncounted)}};
}

Json layer_json(const LayerCost& layer, const DisplayNames& names) {
  Json json = {
      {"name", layer.name}, {"op", layer.op}, {"output_shape", shape_json(layer.output_shape)}};
  if (const std::string label = names.of(layer.name); label != layer.name) json["label"] = label;
  json["node"] = layer.node.is_valid() ? Json(layer.node.number) : Json(nullptr);
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
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented_text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void JsonWriter::key(std::string_view name) {
  if (!is_first_field_) text_ += ",";
  is_first_field_ = false;
  text_ += text_of(Json(name)) + ":";
}

std::string results_json(std::string_view schema, std::span<const std::string> reports) {
  std::string text = "{\"schema\":" + Json(schema).dump() + ",\"results\":[";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string_view report = reports[i];
    text += i == 0 ? "\n" : ",\n";
    text += report.substr(0, report.find_last_not_of('\n') + 1);
  }
  return text + "\n]}\n";
}

void JsonWriter::field(std::string_view name, const Json& value) {
  key(name);
  text_ += text_of(value);
}

void JsonWriter::begin_list(std::string_view name) {
  key(name);
  text_ += "[";
  is_first_item_ = true;
}

void JsonWriter::item(const Json& value) {
  text_ += is_first_item_ ? "\n" : ",\n";
  is_first_item_ = false;
  text_ += text_of(value);
}

void JsonWriter::end_list() {
  text_ += "\n]";
}

std::string JsonWriter::finish() {
  return text_ + "}\n";
}

}  // namespace assay::report
