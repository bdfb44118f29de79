// A comparison as Google Benchmark's JSON, for its tools/compare.py and services that read it.
#include <algorithm>

#include "assay/compare_report.h"
#include "assay/version.h"
#include "report/compare_metrics.h"
#include "report/json_parts.h"

namespace assay {

using namespace assay::report;

namespace {

struct Repetition {
  std::size_t index = 0;
  std::size_t count = 1;
  std::size_t iterations = 1;
  double milliseconds = 0;
};

// Assay measures wall time only, but readers of the format require both times.
Json benchmark_json(const std::string& name, int threads, const Repetition& one) {
  const double nanoseconds = 1e6 * one.milliseconds;  // compare.py prints no decimals
  return {{"name", name},
          {"run_name", name},
          {"run_type", "iteration"},
          {"repetitions", one.count},
          {"repetition_index", one.index},
          {"threads", std::max(1, threads)},
          {"iterations", one.iterations},
          {"real_time", nanoseconds},
          {"cpu_time", nanoseconds},
          {"time_unit", "ns"}};
}

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
  const Json document = {
      {"context",
       {{"executable", "assay"},
        {"library_version", std::string(version())},
        {"caches", Json::array()},
        {"A", report.a.name},
        {"B", report.b.name},
        {"note", "cpu_time repeats real_time, which is wall time; a repetition is a process"}}},
      {"benchmarks", benchmarks_json(report)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
