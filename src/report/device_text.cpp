#include <fmt/core.h>

#include "assay/device_report.h"
#include "base/text.h"
#include "report/device_fields.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::size_t kLabelWidth = 15;
constexpr std::size_t kValueWidth = 14;
constexpr std::size_t kKindWidth = 13;

std::string padded_to(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(used < width ? width - used : 1, ' ');
}

std::string derivation_text(const Derivation& derived) {
  if (derived.kind == Derivation::Kind::Bus) {
    return fmt::format("{:g} bits × {:g} GT/s", derived.units, derived.ghz);
  }
  return fmt::format("{:g} × {:g} GHz × {:g} a cycle", derived.units, derived.ghz,
                     derived.per_cycle);
}

std::string source_text(const Figure& figure) {
  std::string text = figure.note.empty() ? figure.source : figure.note + "; " + figure.source;
  if (figure.derived) text += "; " + derivation_text(*figure.derived);
  return without_control_characters(text);
}

// One line per figure: name, value, kind and source.
class Lines {
 public:
  void add(std::string_view label, const Figures& figures, auto&& value_text) {
    for (const Figure& figure : ranked(figures)) {
      text_ += padded_to(label, kLabelWidth) + padded_to(value_text(figure.value), kValueWidth) +
               padded_to(name(figure.provenance), kKindWidth) +
               wrapped(source_text(figure), kLabelWidth + kValueWidth + kKindWidth);
      label = "";
    }
    if (figures.empty()) unknown_.emplace_back(label);
    has_alternatives_ = has_alternatives_ || figures.size() > 1;
  }

  std::string finish() const {
    std::string text = text_;
    if (!unknown_.empty()) text += "\n" + wrapped("Not known: " + join(unknown_, ", ") + ".");
    if (has_alternatives_) {
      text += "\n" + wrapped(
                         "Of several figures the first is used: measured before theoretical, "
                         "otherwise as listed.");
    }
    return text;
  }

 private:
  std::string text_;
  std::vector<std::string> unknown_;
  bool has_alternatives_ = false;
};

void add_peaks(const Device& device, Lines& lines) {
  for (const std::string& precision : device_precisions()) {
    const auto known = device.peaks.find(precision);
    lines.add(precision + " peak", known == device.peaks.end() ? Figures{} : known->second,
              [&](double value) { return peak_text(precision, value); });
  }
}

std::string cache_label(const DeviceCache& cache) {
  if (!cache.shared_by) return fmt::format("L{} cache", cache.level);
  return fmt::format("L{} of {}", cache.level,
                     *cache.shared_by == 1 ? "a core" : fmt::format("{} cores", *cache.shared_by));
}

void add_caches(const Device& device, Lines& lines) {
  const auto shown = [](FigureUnit unit) {
    return [unit](double value) { return figure_text(unit, value); };
  };
  for (const DeviceCache& cache : device.caches) {
    lines.add(cache_label(cache), cache.bytes, shown(FigureUnit::Bytes));
    if (cache.bandwidth_gbps.empty()) continue;
    lines.add("  reading", cache.bandwidth_gbps, shown(FigureUnit::Bandwidth));
  }
}

// Only microcontrollers have flash: for other devices it is not an unknown figure.
bool applies(const DeviceField& field, const Device& device) {
  const bool is_flash = field.figures == &Device::flash_bytes;
  return !is_flash || device.kind == DeviceKind::Microcontroller || !device.flash_bytes.empty();
}

}  // namespace

std::string device_text(const Device& device) {
  Lines lines;
  for (const DeviceField& field : device_fields()) {
    if (!applies(field, device)) continue;
    lines.add(field.label, device.*field.figures,
              [&](double value) { return figure_text(field.unit, value); });
  }
  add_peaks(device, lines);
  add_caches(device, lines);
  const std::string title = fmt::format("{}  {}  ({})", device.id, device.name, name(device.kind));
  std::string text = wrapped(without_control_characters(title));
  if (!device.description.empty()) text += wrapped(without_control_characters(device.description));
  return text + "\n" + lines.finish();
}

}  // namespace assay
