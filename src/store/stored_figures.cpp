#include "store/stored_figures.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "base/text.h"

namespace assay::store {

namespace {

constexpr std::size_t kLongestText = 500;  // characters of a name or a source
constexpr std::size_t kMostAlternatives = 100;

FigureProvenance provenance_of(const JsonReader& reader, const std::string& where) {
  const std::string word = reader.text("kind");
  for (const auto known : {FigureProvenance::Theoretical, FigureProvenance::Measured}) {
    if (word == name(known)) return known;
  }
  fail_bad_input("{}: 'kind' is '{}'; it must be theoretical or measured", where, word);
}

void check_plausible(double value, report::FigureUnit unit, const std::string& where) {
  const report::PlausibleRange range = report::plausible_range(unit);
  if (range.is_whole && value != std::floor(value)) {
    fail_bad_input("{}: 'value' is {}, not a whole number", where, value);
  }
  if (value < range.least || value > range.most) {
    fail_bad_input("{}: 'value' is {:g}, beyond any device ({:g} to {:g}); is the unit right?",
                   where, value, range.least, range.most);
  }
}

Derivation derivation_of(const report::Json& json, report::FigureUnit unit,
                         const std::string& where) {
  const JsonReader reader(json, where);
  if (unit == report::FigureUnit::Rate) {
    check_object(json, where, {"cores", "ghz", "flops_per_cycle"});
    return {.kind = Derivation::Kind::Compute,
            .units = reader.rate("cores"),
            .ghz = reader.rate("ghz"),
            .per_cycle = reader.rate("flops_per_cycle")};
  }
  if (unit == report::FigureUnit::Bandwidth) {
    check_object(json, where, {"bus_bits", "gigatransfers"});
    return {.kind = Derivation::Kind::Bus,
            .units = reader.rate("bus_bits"),
            .ghz = reader.rate("gigatransfers")};
  }
  fail_bad_input("{}: only peaks and bandwidths are derived", where);
}

// Datasheets round; a larger difference is a mistake in one of the numbers.
void check_derivation(const Figure& figure, const std::string& where) {
  constexpr double kRounding = 0.01;
  const double derived = figure.derived->value();
  if (std::abs(derived - figure.value) <= kRounding * figure.value) return;
  fail_bad_input("{}: 'value' is {:g}, but its derivation gives {:g}", where, figure.value,
                 derived);
}

Figure figure_of(const report::Json& json, report::FigureUnit unit, const std::string& where) {
  check_object(json, where, {"value", "source", "kind", "note", "derived"});
  const JsonReader reader(json, where);
  Figure figure{.value = reader.rate("value"),
                .source = text_of_field(reader, "source", where),
                .provenance = provenance_of(reader, where)};
  check_plausible(figure.value, unit, where);
  if (json.contains("note")) figure.note = text_of_field(reader, "note", where);
  if (json.contains("derived")) {
    figure.derived = derivation_of(json.at("derived"), unit, where + "/derived");
    check_derivation(figure, where);
  }
  return figure;
}

}  // namespace

void check_object(const report::Json& value, const std::string& where,
                  const std::vector<std::string>& known) {
  if (!value.is_object()) fail_bad_input("{}: is not an object", where);
  for (const auto& item : value.items()) {
    if (std::ranges::count(known, item.key()) > 0) continue;
    const auto near = nearest(item.key(), known);
    fail_bad_input("{}: '{}' is not known; {}", where, item.key(),
                   near ? "did you mean '" + *near + "'?" : "there are " + join(known, ", "));
  }
}

std::string text_of_field(const JsonReader& reader, const char* key, const std::string& where) {
  std::string text = reader.text(key);
  const bool is_blank = text.find_first_not_of(" \t") == std::string::npos;
  if (is_blank) fail_bad_input("{}: '{}' is empty", where, key);
  if (text.size() > kLongestText) {
    fail_bad_input("{}: '{}' has more than {} characters", where, key, kLongestText);
  }
  if (without_control_characters(text) != text) {
    fail_bad_input("{}: '{}' holds control characters", where, key);
  }
  return text;
}

Figures figures_of(const report::Json& json, report::FigureUnit unit, const std::string& where) {
  if (json.is_null()) return {};
  if (!json.is_array()) return {figure_of(json, unit, where)};
  if (json.empty()) fail_bad_input("{}: the list is empty; null says that it is not known", where);
  if (json.size() > kMostAlternatives) {
    fail_bad_input("{}: has more than {} alternatives", where, kMostAlternatives);
  }
  Figures figures;
  for (const report::Json& item : json) {
    figures.push_back(figure_of(item, unit, fmt::format("{}[{}]", where, figures.size())));
  }
  return figures;
}

}  // namespace assay::store
