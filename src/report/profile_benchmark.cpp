// A profile as Google Benchmark's JSON.
#include <algorithm>
#include <numeric>

#include "assay/profile_report.h"
#include "report/benchmark_json.h"

namespace assay {

using namespace assay::report;

namespace {

// Consecutive samples as one repetition, so that a file of many samples stays small.
constexpr std::size_t kMostRepetitions = 100;

void add_latency(const Profile& profile, Json& list) {
  const std::vector<double>& samples = profile.latency.samples_ms;
  const std::size_t count = std::min(kMostRepetitions, samples.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * samples.size() / count;
    const std::size_t end = (i + 1) * samples.size() / count;
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = samples.begin() + static_cast<std::ptrdiff_t>(end);
    const double mean_ms = std::accumulate(first, last, 0.0) / static_cast<double>(end - begin);
    const std::size_t runs = (end - begin) * profile.latency.runs_per_sample;
    list.push_back(
        benchmark_json("latency", profile.program.cpu.threads, {i, count, runs, mean_ms}));
  }
}

void add_layers(const Profile& profile, Json& list) {
  for (const ProfileLayer& layer : profile.layers) {
    if (!layer.time_ms) continue;
    list.push_back(benchmark_json("layer/" + layer.cost.name, profile.program.cpu.threads,
                                  {.milliseconds = *layer.time_ms}));
  }
}

}  // namespace

std::string profile_benchmark_json(const Profile& profile) {
  Json context = benchmark_context();
  context["model"] = profile.model.name;
  if (profile.imported) context["imported_from"] = profile.imported->runtime;
  context["note"] =
      "cpu_time repeats real_time, which is wall time; layers are parts of the median run";
  Json list = Json::array();
  add_latency(profile, list);
  add_layers(profile, list);
  return benchmark_document(context, list);
}

}  // namespace assay
