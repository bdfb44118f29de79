// Parts of which the reports of studies are made.
#pragma once

#include <optional>
#include <string>

#include "assay/study_report.h"

namespace assay::report {

template <typename T>
StudyCell optional_cell(const std::optional<T>& value) {
  return value ? StudyCell(*value) : StudyCell();
}
inline StudyCell bound_cell(const std::optional<Bound>& bound) {
  return bound ? StudyCell(std::string(name(*bound))) : StudyCell();
}
inline StudyCell text_cell(const std::string& text) {
  return text.empty() ? StudyCell() : StudyCell(text);
}

// One series: `x` and `y` give a row's coordinates.
template <typename Row, typename X, typename Y>
StudySeries series_of(std::string name, const std::vector<Row>& rows, X x, Y y) {
  StudySeries series{std::move(name), {}};
  for (const Row& row : rows) series.points.push_back({x(row), y(row)});
  return series;
}

// "zoo:mlp, batch 32, cpu engine, 2 threads".
std::string setting_line(const Study& facts, std::optional<std::int64_t> batch);

}  // namespace assay::report
