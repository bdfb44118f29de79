#include <fmt/core.h>
#include <unistd.h>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "cli/console.h"
#include "cli/output_format.h"
#include "cli/sweep_parts.h"

namespace assay::cli {

namespace {

bool prints_tables(const SweepFormat& format) {
  return format.table || format.markdown ||
         (!format.json && !format.csv && ::isatty(STDOUT_FILENO) != 0);
}

std::string tables_of(const MergedSweep& merged, const Layout& layout) {
  if (merged.runs.empty()) return "";
  return merged.runs.size() == 1 ? sweep_table(merged.runs.front(), layout)
                                 : multi_seed_table(merged.runs, layout);
}

std::string data_of(const MergedSweep& merged, const SweepFormat& format) {
  if (merged.runs.empty()) return "";
  if (format.csv) {
    std::vector<SweepRow> rows;
    for (const SweepRun& run : merged.runs) {
      rows.insert(rows.end(), run.rows.begin(), run.rows.end());
    }
    return sweep_results_csv(rows, merged.runs.front().config);
  }
  return merged.runs.size() == 1 ? sweep_summary_json(merged.runs.front())
                                 : multi_seed_json(merged.runs);
}

std::string progress_text(const SweepOutcome& outcome) {
  const std::size_t left = outcome.tasks - outcome.done_before - outcome.done_now;
  std::string text =
      fmt::format("{} of {} tasks done", outcome.done_before + outcome.done_now, outcome.tasks);
  if (outcome.done_before > 0) text += fmt::format(", {} of them before", outcome.done_before);
  if (outcome.failed > 0) text += fmt::format(", {} failed", outcome.failed);
  if (left > 0) text += "; the same command goes on";
  return text;
}

}  // namespace

Exit report_sweep(const SweepResult& result, const std::string& folder, const SweepFormat& format,
                  PageFile& page, bool quiet) {
  const MergedSweep& merged = result.merged;
  if (prints_tables(format)) {
    const Layout layout = layout_of({.markdown = format.markdown});
    print_data(finished(tables_of(merged, layout), layout));
  } else {
    print_data(data_of(merged, format));
  }
  if (!merged.runs.empty()) {
    page.write(
        "summary.json", [&] { return data_of(merged, SweepFormat{.json = true}); }, folder);
  }
  print_note(progress_text(result.outcome), quiet);
  if (!merged.runs.empty()) print_note("results are in " + folder, quiet);
  print_warnings(result.outcome.warnings, quiet);
  print_warnings(merged.warnings, quiet);
  for (const SweepRun& run : merged.runs) print_warnings(run.warnings, quiet);
  return result.outcome.interrupted ? Exit::Interrupted : Exit::Fine;
}

}  // namespace assay::cli
