// A study as people and programs read it: one table, a verdict and charts, whatever it is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "assay/layout.h"
#include "assay/study.h"

namespace assay {

// Nothing where a figure could not be had.
using StudyCell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using StudyFields = std::vector<std::pair<std::string, StudyCell>>;

struct StudyColumn {
  std::string key;      // of rows in JSON and CSV
  std::string heading;  // for people
  std::string unit = "";
  bool is_shown = true;  // in the table for people
};

// A point of a line, or a bar.
struct StudyPoint {
  std::variant<double, std::string> x;
  double y = 0;
};

struct StudySeries {
  std::string name;
  std::vector<StudyPoint> points;
};

struct StudyAxis {
  std::string label;
  bool is_logarithmic = false;
};

struct StudyChart {
  enum class Kind { Line, Bar };

  std::string title;
  Kind kind = Kind::Line;
  StudyAxis x = {};
  StudyAxis y = {};
  std::vector<StudySeries> series = {};
};

// A key of a study's own: a figure, an object of figures, a list of words or of objects.
using StudyDetail =
    std::variant<StudyCell, StudyFields, std::vector<std::string>, std::vector<StudyFields>>;

struct StudyReport {
  std::string study;  // "scaling", …
  std::string title;
  std::vector<std::string> setting;  // what was measured how, in a line each
  Study facts;
  std::vector<StudyColumn> columns;
  std::vector<std::vector<StudyCell>> rows;  // a cell for each column
  std::vector<StudyChart> charts;            // the first one is the picture
  std::vector<std::pair<std::string, StudyDetail>> details = {};
};

StudyReport study_report(const ModelScaling& study);
StudyReport study_report(const BatchSizeEffects& study);
StudyReport study_report(const OperationEfficiency& study);
StudyReport study_report(const ProfilingOverhead& study);
StudyReport study_report(const DecodingComparison& study);
StudyReport study_report(const PrecisionComparison& study);
StudyReport study_report(const ThreadScaling& study);

std::string study_table(const StudyReport& report, const Layout& layout = {});
std::string study_json(const StudyReport& report);
std::string study_csv(const StudyReport& report);
std::string study_png(const StudyReport& report);  // 180 DPI
std::string study_svg(const StudyReport& report);

}  // namespace assay
