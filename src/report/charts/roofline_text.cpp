#include <fmt/core.h>

#include <algorithm>

#include "assay/roofline_chart.h"
#include "base/text.h"
#include "report/charts/character_plot.h"
#include "report/charts/lettering.h"
#include "report/charts/roofline_layout.h"
#include "report/figures.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::size_t kAxisColumns = 8;  // "  1000 ┤"
constexpr std::size_t kLegendRows = 12;

// The nearest of the terminal's 256 colours to those of the pictures.
std::string bound_colour_name(const std::string& bound, const std::vector<std::string>& bounds) {
  static const std::vector<std::string> colours = {"38;5;32", "38;5;214", "38;5;176",
                                                   "38;5;36", "38;5;166", "38;5;117"};
  const auto at = static_cast<std::size_t>(std::ranges::find(bounds, bound) - bounds.begin());
  return at < colours.size() ? colours[at] : "";
}

class TextPlot {
 public:
  TextPlot(const RooflineLayout& layout, std::size_t width, std::size_t height)
      : layout_(layout), plot_(width - kAxisColumns, height), bounds_(bounds_of(layout.points)) {
    draw_roofs();
    draw_points();
    label_roofs();
  }

  std::string render(bool use_colour) const;
  // The letter that covers this point, or nothing if the point is drawn.
  std::string hidden_behind(std::size_t index) const { return hidden_behind_[index]; }
  std::string colour(const RooflinePoint& point) const {
    return bound_colour_name(point.bound, bounds_);
  }
  const std::vector<std::string>& unlabelled_roofs() const { return unlabelled_roofs_; }

 private:
  double x_of(double intensity) const { return layout_.intensity.place(intensity); }
  double y_of(double gflops) const { return 1 - layout_.gflops.place(gflops); }

  void draw_roofs();
  void draw_points();
  void label_roofs();
  bool label_roof(const Roof& roof);
  bool write_on_level(const Roof& roof, const std::string& text);
  bool write_on_slope(const Roof& roof, const std::string& text);
  std::vector<std::string> row_labels() const;
  std::string intensity_axis() const;

  const RooflineLayout& layout_;
  CharacterPlot plot_;
  std::vector<std::string> bounds_;
  std::vector<std::string> hidden_behind_;
  std::vector<std::string> unlabelled_roofs_;
};

void TextPlot::draw_roofs() {
  for (const Roof& roof : layout_.roofs) {
    plot_.line(x_of(roof.from), y_of(roof.gflops_at(roof.from)), x_of(roof.to),
               y_of(roof.gflops_at(roof.to)));
  }
}

// Points that take the most time come first and keep their cell.
void TextPlot::draw_points() {
  std::vector<std::string> owners(plot_.columns() * plot_.rows());
  for (std::size_t i = 0; i < layout_.points.size(); ++i) {
    const RooflinePoint& point = layout_.points[i];
    const std::size_t column = plot_.column_of(x_of(point.intensity));
    const std::size_t row = plot_.row_of(y_of(point.gflops));
    std::string& owner = owners[row * plot_.columns() + column];
    hidden_behind_.push_back(owner);
    if (!owner.empty()) continue;
    owner = i < kLegendRows ? letter(i) : "•";
    plot_.mark(column, row, owner, colour(point));
  }
}

// On the line itself, replacing its dots, as far to the right as there is space; otherwise at the
// right, above or below it.
bool TextPlot::write_on_level(const Roof& roof, const std::string& text) {
  const std::size_t row = plot_.row_of(y_of(roof.rate));
  const std::string spaced = " " + text + " ";
  const std::size_t width = display_width(spaced);
  const std::size_t first = plot_.column_of(x_of(roof.from)) + 1;
  for (std::size_t end = plot_.columns() - 2; end >= first + width; --end) {
    if (plot_.write_if_free(end - width, row, spaced, CharacterPlot::Dots::MayGo)) return true;
  }
  if (width > plot_.columns()) return false;
  const std::size_t right = plot_.columns() - width;
  return (row > 0 && plot_.write_if_free(right, row - 1, spaced)) ||
         plot_.write_if_free(right, row + 1, spaced);
}

bool TextPlot::write_on_slope(const Roof& roof, const std::string& text) {
  for (std::size_t row = plot_.rows(); row-- > 0;) {
    const double middle = 1 - (static_cast<double>(row) + 0.5) / static_cast<double>(plot_.rows());
    const double intensity = layout_.gflops.number(middle) / roof.rate;
    if (intensity < roof.from || intensity > roof.to) continue;
    const std::size_t column = plot_.column_of(x_of(intensity));
    const std::size_t width = display_width(text);
    if (plot_.write_if_free(column + 2, row, text)) return true;
    if (column >= width + 1 && plot_.write_if_free(column - width - 1, row, text)) return true;
  }
  return false;
}

bool TextPlot::label_roof(const Roof& roof) {
  const std::string text = drawable(roof.label);
  return roof.is_bandwidth ? write_on_slope(roof, text) : write_on_level(roof, text);
}

void TextPlot::label_roofs() {
  for (const Roof& roof : layout_.roofs) {
    if (!label_roof(roof)) unlabelled_roofs_.push_back(drawable(roof.label));
  }
}

std::vector<std::string> TextPlot::row_labels() const {
  std::vector<std::string> labels(plot_.rows(), std::string(kAxisColumns - 1, ' ') + "│");
  for (const Tick& tick : ticks_of(layout_.gflops, plot_.rows() / 2)) {
    if (tick.text.empty() || display_width(tick.text) > kAxisColumns - 2) continue;
    const std::string space(kAxisColumns - 2 - display_width(tick.text), ' ');
    labels[plot_.row_of(y_of(tick.number))] = space + tick.text + " ┤";
  }
  return labels;
}

std::string TextPlot::intensity_axis() const {
  std::string line(kAxisColumns - 1, ' ');
  CharacterPlot marks(plot_.columns(), 2);
  for (std::size_t i = 0; i < plot_.columns(); ++i) marks.mark(i, 0, "─");
  for (const Tick& tick : ticks_of(layout_.intensity, plot_.columns() / 10)) {
    if (tick.text.empty()) continue;
    const std::size_t column = plot_.column_of(x_of(tick.number));
    const std::size_t half = display_width(tick.text) / 2;
    if (marks.write_if_free(column - std::min(half, column), 1, tick.text)) {
      marks.mark(column, 0, "┬");
    }
  }
  return line + "└" + marks.line_of(0, false) + "\n" + std::string(kAxisColumns, ' ') +
         marks.line_of(1, false) + "\n";
}

std::string TextPlot::render(bool use_colour) const {
  const auto labels = row_labels();
  std::string text = std::string(kAxisColumns - 1, ' ') + "GFLOP/s\n";
  for (std::size_t row = 0; row < plot_.rows(); ++row) {
    text += labels[row] + plot_.line_of(row, use_colour) + "\n";
  }
  const std::string title = "FLOP per byte";
  return text + intensity_axis() + std::string(kAxisColumns + plot_.columns() - title.size(), ' ') +
         title + "\n";
}

std::string legend(const RooflineLayout& layout, const TextPlot& plot, std::size_t width) {
  TextTable table({{.title = ""},
                   {.title = "layer", .shrinks = true, .narrowest = 6},
                   {.title = "time", .is_number = true},
                   {.title = "GFLOP/s", .is_number = true},
                   {.title = "FLOP/byte", .is_number = true},
                   {.title = "bound", .shrinks = true, .narrowest = 5}});
  for (std::size_t i = 0; i < std::min(layout.points.size(), kLegendRows); ++i) {
    const RooflinePoint& point = layout.points[i];
    const std::string behind = plot.hidden_behind(i);
    table.add_row({letter(i) + (behind.empty() ? "" : " (at " + behind + ")"),
                   point.name.empty() ? "(unnamed)" : drawable(point.name),
                   share_text(point.time_share), any_rate_text(point.gflops),
                   any_rate_text(point.intensity),
                   point.bound.empty() ? "-" : drawable(point.bound)});
  }
  return table.render(width);
}

// The letters of a legend's lines in the colours of the plot; the table itself has no colours.
std::string with_coloured_letters(const std::string& table, const RooflineLayout& layout,
                                  const TextPlot& plot) {
  std::vector<std::string> lines = split(table, '\n');
  for (std::size_t i = 0; i < std::min(layout.points.size(), kLegendRows); ++i) {
    std::string& line = lines[i + 2];  // after the titles and their rule
    line = coloured(letter(i), plot.colour(layout.points[i]), true) + line.substr(1);
  }
  return join(lines, "\n");
}

// "lines without a label: fp32 AVX2 111 GFLOP/s," and the next ones below where the width ends.
std::string unlabelled_text(const std::vector<std::string>& roofs, std::size_t width) {
  std::string text;
  std::string line = fmt::format("line{} without a label:", roofs.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const std::string word = roofs[i] + (i + 1 < roofs.size() ? "," : "");
    if (display_width(line) + 1 + display_width(word) > width) {
      text += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

std::string notes(const RooflineLayout& layout, const TextPlot& plot, std::size_t width) {
  std::string text;
  if (layout.points.size() > kLegendRows) {
    text += fmt::format("• {} more\n", layout.points.size() - kLegendRows);
  }
  const auto roofs = plot.unlabelled_roofs();
  if (!roofs.empty()) text += unlabelled_text(roofs, width);
  return layout.note.empty() ? text : text + layout.note + "\n";
}

}  // namespace

std::string roofline_text(const RooflineChart& chart, std::size_t width, std::size_t height,
                          bool use_colour) {
  width = std::clamp<std::size_t>(width, 52, 1000);
  height = std::clamp<std::size_t>(height, 8, 1000);
  const RooflineLayout layout = layout_of(chart);
  const TextPlot plot(layout, width, height);
  std::string text;
  for (const std::string& heading : {chart.title, chart.machine}) {
    if (!heading.empty()) text += cut_off(drawable(heading), width) + "\n";
  }
  text += "\n" + plot.render(use_colour);
  if (!layout.points.empty()) {
    const std::string table = legend(layout, plot, width);
    text += "\n" + (use_colour ? with_coloured_letters(table, layout, plot) : table);
  }
  return text + notes(layout, plot, width);
}

}  // namespace assay
