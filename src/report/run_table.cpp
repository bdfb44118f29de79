#include "assay/run_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.5g}", *value) : "-";
}

std::string strange_count(std::int64_t count) {
  return count == 0 ? "-" : with_thousands(count);
}

std::string outputs_table(const std::vector<RunOutput>& outputs, const Layout& layout) {
  TextTable table({{.title = "output", .shrinks = true, .narrowest = 12},
                   {.title = "type", .shrinks = true, .narrowest = 7},
                   {.title = "shape", .shrinks = true, .narrowest = 10},
                   {.title = "min", .is_number = true},
                   {.title = "max", .is_number = true},
                   {.title = "mean", .is_number = true},
                   {.title = "NaN", .is_number = true},
                   {.title = "Inf", .is_number = true}});
  for (const auto& [output, tensor, summary] : outputs) {
    table.add_row({without_control_characters(output), std::string(name(tensor.type())),
                   tensor.shape().to_string(), number(summary.min), number(summary.max),
                   number(summary.mean), strange_count(summary.nan_count),
                   strange_count(summary.infinite_count)});
  }
  return table.render(layout);
}

std::string checks_table(const RunReport& report, const Layout& layout) {
  if (report.checks.empty()) return "";
  TextTable table({{.title = "check", .shrinks = true, .narrowest = 12},
                   {.title = "against", .shrinks = true, .narrowest = 10},
                   {.title = "max abs error", .is_number = true},
                   {.title = "max rel error", .is_number = true},
                   {.title = "outside", .is_number = true},
                   {.title = "verdict"}});
  std::string mismatches;
  for (const auto& check : report.checks) {
    const TensorDifference& difference = check.difference;
    const bool was_compared = difference.mismatch.empty();
    table.add_row({without_control_characters(check.output),
                   without_control_characters(check.expected_file),
                   was_compared ? fmt::format("{:.3g}", difference.largest_absolute) : "-",
                   was_compared ? fmt::format("{:.3g}", difference.largest_relative) : "-",
                   was_compared ? with_thousands(difference.differing) : "-",
                   difference.agrees() ? "agrees" : "DIFFERS"});
    if (!was_compared) {
      mismatches += wrapped(without_control_characters(
          fmt::format("Output '{}' {}.", check.output, difference.mismatch)));
    }
  }
  return "\n" + table.render(layout) + mismatches +
         wrapped(fmt::format("An element agrees within {:g} + {:g}·|expected|.",
                             report.tolerance.absolute, report.tolerance.relative));
}

std::string files_text(const std::vector<std::string>& files) {
  std::string text;
  for (const auto& file : files) text += "wrote " + without_control_characters(file) + "\n";
  return files.empty() ? "" : "\n" + text;
}

}  // namespace

std::string run_table(const RunReport& report, const Layout& layout) {
  const RunResult& result = report.result;
  return headline(result.model) + "\n" +
         labelled("run",
                  fmt::format("{} after {} of compiling; {}, {} engine",
                              duration_text(result.run_ms), duration_text(result.compile_ms),
                              team_text(result.program.cpu.threads), result.program.engine)) +
         "\n" + outputs_table(result.outputs, layout) + checks_table(report, layout) +
         files_text(report.files);
}

}  // namespace assay
