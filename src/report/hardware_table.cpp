#include <fmt/core.h>

#include <algorithm>

#include "assay/hardware_report.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// Breaks a sentence between words; lines after the first are indented like its first word.
std::string marked_lines(std::string_view mark, const std::string& sentence) {
  const std::string indent(display_width(mark), ' ');
  std::string text;
  std::string line(mark);
  bool is_empty = true;
  for (const std::string& word : split(without_control_characters(sentence), ' ')) {
    const std::string shown = shortened(word, kTableWidth - indent.size());
    if (!is_empty && display_width(line) + 1 + display_width(shown) > kTableWidth) {
      text += line + "\n";
      line = indent;
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + shown;
    is_empty = false;
  }
  return text + line + "\n";
}

std::string list_of(std::string_view title, const std::vector<std::string>& sentences) {
  std::string text = fmt::format("\n{}\n", title);
  for (const std::string& sentence : sentences) text += marked_lines("- ", sentence);
  return text;
}

std::string line(std::string_view what, const std::string& figure) {
  return fmt::format("{:<24}{}\n", what, figure);
}

std::string clamp_warning(const HardwareSummary& summary) {
  std::string text;
  if (summary.is_latency_clamped) {
    text += marked_lines("! ", "The latency was raised to 1e-9 s: the rates above mean nothing.");
  }
  if (summary.is_bandwidth_clamped) {
    text +=
        marked_lines("! ", "The bandwidth was raised to 1e-9 GB/s: the utilisation means nothing.");
  }
  return text;
}

std::string roofline_lines(const HardwareSummary& summary) {
  if (!summary.configured_peak_compute_gmacs) return "";
  return line("peak compute", any_rate_text(summary.configured_peak_compute_gmacs) + " GMAC/s") +
         line("roofline knee",
              any_rate_text(summary.roofline_knee_macs_per_byte) + " MACs per byte") +
         line("regime", summary.bound_regime.value_or("-"));
}

std::string utilization_text(const HardwareSummary& summary) {
  return fmt::format("{}%", any_rate_text(100 * summary.bandwidth_utilization));
}

// Shortened for a column of a table, without the qualification in the full name.
std::string short_class(const HardwareSummary& summary) {
  const auto utilization = utilization_class(summary.bandwidth_utilization);
  return utilization == UtilizationClass::ComputeBound ? "low" : std::string(name(utilization));
}

std::string device_notes(const std::vector<DeviceComparisonRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const bool has_note = !row.device.note.empty() && !row.device.is_catalogued;
    if (has_note) text += marked_lines("- ", row.device.name + ": " + row.device.note);
    if (row.summary.is_bandwidth_clamped) {
      text += marked_lines("! ", row.device.name + ": its bandwidth was raised to 1e-9 GB/s.");
    }
  }
  if (std::ranges::any_of(rows, [](const auto& row) { return row.device.is_catalogued; })) {
    text +=
        marked_lines("- ", "The others are from the catalogue: 'assay devices ID' lists sources.");
  }
  return text;
}

std::string impact_cell(const ImpactFigure& figure, double number) {
  if (figure.name == "estimated_total_bytes") return with_binary_unit(number);
  if (figure.name == "estimated_total_macs") return with_si_suffix(number);
  return figure.name == "latency_ms" ? duration_text(number) : any_rate_text(number) + " GB/s";
}

std::string change_text(std::optional<double> percent) {
  return percent ? fmt::format("{:+.1f}%", *percent) : "-";
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.0f}%", 100 * ratio);
}

}  // namespace

std::string hardware_summary_table(const HardwareSummary& summary,
                                   const UtilizationReading& reading) {
  std::string text =
      line("bytes", binary_text(summary.estimated_total_bytes) + ", parameters and activations") +
      line("MACs", with_si_suffix(static_cast<double>(summary.estimated_total_macs))) +
      line("latency", duration_text(summary.latency_ms)) +
      line("bandwidth reached", any_rate_text(summary.achieved_bandwidth_gbps) + " GB/s") +
      line("bandwidth given", any_rate_text(summary.configured_memory_bandwidth_gbps) + " GB/s") +
      line("utilisation", utilization_text(summary)) +
      line("compute reached", any_rate_text(summary.achieved_gmacs) + " GMAC/s") +
      line("intensity",
           any_rate_text(summary.arithmetic_intensity_macs_per_byte) + " MACs per byte") +
      roofline_lines(summary) + clamp_warning(summary);
  text += "\n" + marked_lines("", reading.sentence);
  for (const std::string& advice : reading.advice) text += marked_lines("- ", advice);
  return text + list_of("What this leaves out:", hardware_summary_limits());
}

std::string hardware_report_table(const HardwareReport& report, const Layout& layout) {
  return hardware_summary_table(report.summary, report.reading) + "\n" +
         device_comparison_table(report.devices, layout);
}

std::string device_comparison_table(const std::vector<DeviceComparisonRow>& rows,
                                    const Layout& layout) {
  TextTable table({{.title = "device", .shrinks = true, .narrowest = 8},
                   {.title = "GB/s", .is_number = true},
                   {.title = "utilisation", .is_number = true},
                   {.title = "class"},
                   {.title = "knee", .is_number = true},
                   {.title = "regime"},
                   {.title = "roofline", .is_number = true}});
  for (const auto& row : rows) {
    const HardwareSummary& summary = row.summary;
    table.add_row({without_control_characters(row.device.name),
                   any_rate_text(summary.configured_memory_bandwidth_gbps),
                   utilization_text(summary), short_class(summary),
                   any_rate_text(summary.roofline_knee_macs_per_byte),
                   summary.bound_regime.value_or("-"), duration_text(row.roofline_latency_ms)});
  }
  std::string text = table.render(layout) + "\n";
  if (!rows.empty()) {
    text += marked_lines(
        "", fmt::format("Utilisation: the bandwidth of one run in {}, compared with each device; "
                        "low: compute-bound or inefficient access. Roofline: the time to move "
                        "every byte at the device's bandwidth or, if that takes longer, to do "
                        "every MAC at its peak.",
                        duration_text(rows[0].summary.latency_ms)));
  }
  return text + device_notes(rows) + list_of("What this leaves out:", hardware_summary_limits());
}

std::string hardware_impact_table(const HardwareImpact& impact, const Layout& layout) {
  static const std::vector<std::string> titles = {"bytes", "MACs", "latency", "bandwidth reached"};
  TextTable table({{.title = ""},
                   {.title = "before", .is_number = true},
                   {.title = "after", .is_number = true},
                   {.title = "change", .is_number = true}});
  for (std::size_t i = 0; i < impact.size(); ++i) {
    table.add_row({titles[i], impact_cell(impact[i], impact[i].before),
                   impact_cell(impact[i], impact[i].after), change_text(impact[i].change_percent)});
  }
  return table.render(layout);
}

std::string precision_tradeoff_text(const std::vector<PrecisionTradeoff>& rows) {
  TextTable table({{.title = "precision", .shrinks = true, .narrowest = 4},
                   {.title = "accuracy", .is_number = true},
                   {.title = "latency", .is_number = true},
                   {.title = "memory, MB", .is_number = true},
                   {.title = "energy, J", .is_number = true},
                   {.title = "accepted", .is_number = true}});
  for (const PrecisionTradeoff& row : rows) {
    table.add_row({without_control_characters(row.precision),
                   row.accuracy_mean ? fmt::format("{:.4f}", *row.accuracy_mean) : "-",
                   row.latency_ms_mean ? duration_text(*row.latency_ms_mean) : "-",
                   any_rate_text(row.memory_mb_mean), any_rate_text(row.energy_proxy_j_mean),
                   ratio_text(row.accepted_ratio)});
  }
  return table.render(kTableWidth);
}

}  // namespace assay
