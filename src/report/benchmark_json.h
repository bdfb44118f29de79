// Parts of Google Benchmark's JSON.
#pragma once

#include <string>

#include "report/json_parts.h"

namespace assay::report {

struct Repetition {
  std::size_t index = 0;
  std::size_t count = 1;
  std::size_t iterations = 1;
  double milliseconds = 0;
};

Json benchmark_json(const std::string& name, int threads, const Repetition& one);
Json benchmark_context();
std::string benchmark_document(const Json& context, const Json& benchmarks);

}  // namespace assay::report
