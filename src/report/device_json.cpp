#include "assay/device_report.h"
#include "base/number_cast.h"
#include "report/device_fields.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json derivation_json(const Derivation& derived) {
  if (derived.kind == Derivation::Kind::Bus) {
    return {{"bus_bits", derived.units}, {"gigatransfers", derived.ghz}};
  }
  return {{"cores", derived.units}, {"ghz", derived.ghz}, {"flops_per_cycle", derived.per_cycle}};
}

Json number_json(double value, FigureUnit unit) {
  return plausible_range(unit).is_whole ? Json(number_cast<std::int64_t>(value)) : Json(value);
}

Json figure_json(const Figure& figure, FigureUnit unit) {
  Json json = {{"value", number_json(figure.value, unit)},
               {"source", figure.source},
               {"kind", name(figure.provenance)}};
  if (!figure.note.empty()) json["note"] = figure.note;
  if (figure.derived) json["derived"] = derivation_json(*figure.derived);
  return json;
}

Json figures_json(const Figures& figures, FigureUnit unit) {
  if (figures.empty()) return nullptr;
  Json list = Json::array();
  for (const Figure& figure : ranked(figures)) list.push_back(figure_json(figure, unit));
  return list;
}

Json peaks_json(const Device& device) {
  Json json = Json::object();
  for (const std::string& precision : device_precisions()) {
    const auto known = device.peaks.find(precision);
    json[precision] =
        known == device.peaks.end() ? Json() : figures_json(known->second, FigureUnit::Rate);
  }
  return json;
}

Json caches_json(const Device& device) {
  Json list = Json::array();
  for (const DeviceCache& cache : device.caches) {
    Json json = {{"level", cache.level}};
    if (cache.shared_by) json["shared_by"] = *cache.shared_by;
    json["bytes"] = figures_json(cache.bytes, FigureUnit::Bytes);
    json["bandwidth_gbps"] = figures_json(cache.bandwidth_gbps, FigureUnit::Bandwidth);
    list.push_back(std::move(json));
  }
  return list;
}

Json device_json(const Device& device) {
  Json json = {{"id", device.id}, {"name", device.name}, {"kind", name(device.kind)}};
  if (!device.description.empty()) json["description"] = device.description;
  for (const DeviceField& field : device_fields()) {
    json[field.key] = figures_json(device.*field.figures, field.unit);
  }
  json["peaks"] = peaks_json(device);
  json["caches"] = caches_json(device);
  return json;
}

}  // namespace

std::string devices_json(std::span<const Device> devices,
                         const std::vector<std::string>& warnings) {
  JsonWriter json;
  json.field("schema", kDevicesSchema);
  json.begin_list("devices");
  for (const Device& device : devices) json.item(device_json(device));
  json.end_list();
  json.field("warnings", warnings);
  return json.finish();
}

}  // namespace assay
