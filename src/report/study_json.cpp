#include "assay/study_report.h"
#include "report/profile_json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json cell_json(const StudyCell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

Json fields_json(const StudyFields& fields) {
  Json json = Json::object();
  for (const auto& [key, cell] : fields) json[key] = cell_json(cell);
  return json;
}

struct DetailJson {
  Json operator()(const StudyCell& cell) const { return cell_json(cell); }
  Json operator()(const StudyFields& fields) const { return fields_json(fields); }
  Json operator()(const std::vector<std::string>& words) const { return words; }
  Json operator()(const std::vector<StudyFields>& list) const {
    Json json = Json::array();
    for (const StudyFields& fields : list) json.push_back(fields_json(fields));
    return json;
  }
};

Json columns_json(const std::vector<StudyColumn>& columns) {
  Json list = Json::array();
  for (const StudyColumn& column : columns) {
    list.push_back({{"key", column.key}, {"heading", column.heading}, {"unit", column.unit}});
  }
  return list;
}

Json row_json(const std::vector<StudyColumn>& columns, const std::vector<StudyCell>& cells) {
  Json row = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i].key] = cell_json(cells.at(i));
  return row;
}

Json axis_json(const StudyAxis& axis) {
  return {{"label", axis.label}, {"log", axis.is_logarithmic}};
}

Json series_json(const StudySeries& series) {
  Json points = Json::array();
  for (const StudyPoint& point : series.points) {
    const Json x = std::visit([](const auto& value) { return Json(value); }, point.x);
    points.push_back(Json::array({x, point.y}));
  }
  return {{"name", series.name}, {"points", std::move(points)}};
}

Json chart_json(const StudyChart& chart) {
  Json series = Json::array();
  for (const StudySeries& one : chart.series) series.push_back(series_json(one));
  return {{"title", chart.title},
          {"kind", chart.kind == StudyChart::Kind::Line ? "line" : "bar"},
          {"x", axis_json(chart.x)},
          {"y", axis_json(chart.y)},
          {"series", std::move(series)}};
}

}  // namespace

std::string study_json(const StudyReport& report) {
  const Study& facts = report.facts;
  JsonWriter json;
  json.field("schema", "assay.study/1");
  json.field("study", report.study);
  json.field("title", report.title);
  json.field("provenance", "measured");
  json.field("model", facts.model ? model_json(*facts.model) : Json(nullptr));
  json.field("options", {{"engine", facts.engine}, {"threads", facts.threads}});
  json.field("setting", report.setting);
  json.field("verdict", facts.verdict);
  json.field("columns", columns_json(report.columns));
  json.begin_list("rows");
  for (const auto& row : report.rows) json.item(row_json(report.columns, row));
  json.end_list();
  json.begin_list("charts");
  for (const StudyChart& chart : report.charts) json.item(chart_json(chart));
  json.end_list();
  for (const auto& [key, detail] : report.details) {
    json.field(key, std::visit(DetailJson{}, detail));
  }
  json.field("machine", machine_json(facts.roofline));
  json.field("warnings", facts.warnings);
  return json.finish();
}

}  // namespace assay
