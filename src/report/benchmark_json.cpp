#include "report/benchmark_json.h"

#include <algorithm>

#include "assay/version.h"

namespace assay::report {

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

Json benchmark_context() {
  return {{"executable", "assay"},
          {"library_version", std::string(version())},
          {"caches", Json::array()}};
}

std::string benchmark_document(const Json& context, const Json& benchmarks) {
  const Json document = {{"context", context}, {"benchmarks", benchmarks}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::report
