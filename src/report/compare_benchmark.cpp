// A comparison as Google Benchmark's JSON, for its tools/compare.py and services that read it.
#include <algorithm>

#include "assay/compare_report.h"
#include "report/benchmark_json.h"
#include "report/compare_metrics.h"

namespace assay {

using namespace assay::report;

namespace {

void add_processes(const char* letter, const ComparedSide& side, Json& list) {
  const std::string name = std::string(letter) + "/latency";
  for (std::size_t i = 0; i < side.processes.size(); ++i) {
    const auto& values = side.processes[i].values;
    list.push_back(benchmark_json(name, side.profile.threads,
                                  {i, side.processes.size(), values.size(), middle_of(values)}));
  }
}

void add_rows(const char* letter, const CompareReport& report,
              std::optional<double> ComparedMetric::*side, Json& list) {
  for (const ComparedRow& row : report.rows) {
    const auto latency = std::ranges::find(row.metrics, "latency", &ComparedMetric::name);
    if (latency == row.metrics.end() || !((*latency).*side)) continue;
    list.push_back(benchmark_json(std::string(letter) + "/" + row.name, 1,
                                  {.milliseconds = *((*latency).*side)}));
  }
}

Json benchmarks_json(const CompareReport& report) {
  Json list = Json::array();
  if (report.models) {
    add_processes("A", report.models->a, list);
    add_processes("B", report.models->b, list);
  } else {
    add_rows("A", report, &ComparedMetric::a, list);
    add_rows("B", report, &ComparedMetric::b, list);
  }
  return list;
}

}  // namespace

std::string compare_benchmark_json(const CompareReport& report) {
  Json context = benchmark_context();
  context["A"] = report.a.name;
  context["B"] = report.b.name;
  context["note"] = "cpu_time repeats real_time, which is wall time; a repetition is a process";
  return benchmark_document(context, benchmarks_json(report));
}

}  // namespace assay
