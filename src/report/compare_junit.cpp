// A comparison as JUnit XML, which CI services show as tests.
#include <fmt/core.h>

#include "assay/compare_report.h"
#include "base/utf8.h"
#include "report/compare_words.h"

namespace assay {

using namespace assay::report;

namespace {

std::string escaped_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// XML is UTF-8 and has no control characters other than line ends and tabs.
std::string xml(std::string_view text) {
  std::string safe(text);
  const bool is_text = is_utf8(text);
  for (char& c : safe) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n') || byte == 0x7f;
    if (is_control || (byte >= 0x80 && !is_text)) c = '?';
  }
  return escaped_xml(safe);
}

bool is_failure(const CompareReport& report, const GateResult& result) {
  return result.verdict == GateVerdict::Failed ||
         (result.verdict == GateVerdict::Undecided && report.undecided_fails);
}

std::string case_content(const CompareReport& report, const GateResult& result) {
  const std::string message = xml(std::string(name(result.verdict)) + ": " + result.reason);
  if (is_failure(report, result)) {
    return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                       name(result.verdict), message, message);
  }
  if (result.verdict == GateVerdict::Undecided) {
    return fmt::format("      <skipped message=\"{}\"/>\n", message);
  }
  return fmt::format("      <system-out>{}</system-out>\n", message);
}

std::string gate_case(const CompareReport& report, const GateResult& result) {
  return fmt::format("    <testcase classname=\"assay.compare\" name=\"{}\" time=\"0\">\n{}",
                     xml(gate_title(result)), case_content(report, result)) +
         "    </testcase>\n";
}

std::string figures_properties(const CompareReport& report) {
  std::string text;
  for (const ComparedRow& row : report.rows) {
    for (const ComparedMetric& metric : row.metrics) {
      const std::string prefix = row.name.empty() ? "" : row.name + " ";
      const auto add = [&](const char* side, const std::optional<double>& value) {
        if (!value) return;
        text += fmt::format("      <property name=\"{}\" value=\"{:.9g}\"/>\n",
                            xml(prefix + metric.name + "." + side), *value);
      };
      add("a", metric.a);
      add("b", metric.b);
    }
  }
  return text;
}

struct CaseCounts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;
};

CaseCounts count_cases(const CompareReport& report) {
  CaseCounts counts;
  for (const GateResult& result : report.gates) {
    ++counts.tests;
    const bool fails = is_failure(report, result);
    counts.failures += fails ? 1U : 0U;
    counts.skipped += !fails && result.verdict == GateVerdict::Undecided ? 1U : 0U;
  }
  return counts;
}

}  // namespace

std::string compare_junit(const CompareReport& report) {
  const auto [tests, failures, skipped] = count_cases(report);
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\"", tests,
                  failures, skipped, report.seconds);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"assay compare\" {}>\n", counts);
  text += fmt::format("  <testsuite name=\"{}\" {}>\n",
                      xml(report.b.name + " compared with " + report.a.name), counts);
  text += "    <properties>\n" + figures_properties(report) + "    </properties>\n";
  for (const GateResult& result : report.gates) text += gate_case(report, result);
  text += "    <system-out>" + xml(compare_table(report)) + "</system-out>\n";
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace assay
