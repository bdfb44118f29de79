#include "assay/compare_report.h"
#include "assay/hardware_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/compare_impact.h"
#include "report/compare_words.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string ratio_text(double b, double a) {
  return a > 0 ? fmt::format("{:.3f}", b / a) : "-";
}

void add_count(TextTable& table, const char* what, std::int64_t a, std::int64_t b,
               std::string (*text)(std::int64_t)) {
  table.add_row(
      {what, text(a), text(b), ratio_text(static_cast<double>(b), static_cast<double>(a))});
}

std::string si_text(std::int64_t number) {
  return with_si_suffix(static_cast<double>(number));
}

double throughput(const StoredProfile& profile, double median_ms) {
  return median_ms > 0 ? static_cast<double>(profile.batch) * 1000.0 / median_ms : 0.0;
}

std::string figures_table(const ModelComparison& comparison) {
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  const Comparison& result = comparison.result;
  TextTable table({{.title = ""},
                   {.title = "A", .is_number = true},
                   {.title = "B", .is_number = true},
                   {.title = "B / A", .is_number = true}});
  table.add_row({"latency", duration_text(result.median_a), duration_text(result.median_b),
                 fmt::format("{:.3f}", result.ratio)});
  const double a_rate = throughput(a, result.median_a);
  const double b_rate = throughput(b, result.median_b);
  table.add_row({"samples/s", rate_text(a_rate), rate_text(b_rate), ratio_text(b_rate, a_rate)});
  add_count(table, "memory", a.peak_memory_bytes, b.peak_memory_bytes, binary_text);
  if (a.peak_rss_growth_bytes && b.peak_rss_growth_bytes) {
    add_count(table, "process grew by", *a.peak_rss_growth_bytes, *b.peak_rss_growth_bytes,
              binary_text);
  }
  add_count(table, "parameters", a.parameters, b.parameters, with_thousands);
  add_count(table, "FLOPs", a.flops, b.flops, si_text);
  return table.render(kTableWidth);
}

std::string side(const char* letter, const StoredProfile& profile) {
  const std::string setting = fmt::format("   batch {}, {} {}", profile.batch, profile.threads,
                                          profile.threads == 1 ? "thread" : "threads");
  const std::string model = without_control_characters(profile.model);
  return fmt::format("{}  {}{}\n", letter,
                     shortened(model, kTableWidth - 3 - display_width(setting)), setting);
}

std::string how(const ModelComparison& comparison) {
  const std::size_t pairs = comparison.result.pairs;
  const std::string noise =
      fmt::format("a change within ±{:g} % is noise", 100 * comparison.threshold);
  if (!comparison.interleaved) return "from stored samples, not run in turn; " + noise;
  return fmt::format("{} {} of fresh processes, run in turn; {}{}", pairs,
                     pairs == 1 ? "pair" : "pairs", noise,
                     comparison.interrupted ? "; interrupted" : "");
}

}  // namespace

std::string compare_table(const ModelComparison& comparison) {
  const auto impact = impact_of(comparison);
  return side("A", comparison.a.profile) + side("B", comparison.b.profile) + "\n" +
         figures_table(comparison) + "\n" + (impact ? hardware_impact_table(*impact) + "\n" : "") +
         labelled("verdict", fmt::format("{}   {}", name(comparison.result.verdict),
                                         verdict_words(comparison.result))) +
         labelled("", how(comparison));
}

}  // namespace assay
