#include "sweep/row_json.h"

#include "base/fail.h"
#include "report/metrics_columns.h"

namespace assay::sweep {

namespace {

using report::optional_json;

SweepTaskKind kind_named(const std::string& word) {
  for (const SweepTaskKind kind :
       {SweepTaskKind::Train, SweepTaskKind::Prune, SweepTaskKind::Quantize, SweepTaskKind::Measure,
        SweepTaskKind::Deploy}) {
    if (name(kind) == word) return kind;
  }
  fail_bad_input("there is no kind of task '{}'", word);
}

}  // namespace

std::optional<double> number_or_nothing(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

Json metrics_record(const PerfMetrics& metrics) {
  return report::object_of(report::metric_figures(metrics));
}

PerfMetrics metrics_of(const Json& record) {
  PerfMetrics metrics;
  for (const auto& [key, member] : report::metric_members()) {
    metrics.*member = record.at(key).get<double>();
  }
  metrics.energy_measured_j = number_or_nothing(record, "energy_measured_j");
  metrics.energy_note = record.at("energy_note").get<std::string>();
  return metrics;
}

Json host_record(const SweepHost& host) {
  return {{"host", host.host},
          {"processor", host.processor},
          {"processors", host.processors},
          {"fingerprint", host.fingerprint},
          {"peak_gflops", optional_json(host.peak_gflops)},
          {"bandwidth_gbps", optional_json(host.bandwidth_gbps)}};
}

SweepHost host_of(const Json& record) {
  return {.host = record.at("host").get<std::string>(),
          .processor = record.at("processor").get<std::string>(),
          .processors = record.at("processors").get<int>(),
          .fingerprint = record.at("fingerprint").get<std::string>(),
          .peak_gflops = number_or_nothing(record, "peak_gflops"),
          .bandwidth_gbps = number_or_nothing(record, "bandwidth_gbps")};
}

Json deployment_record(const Deployment& deployment) {
  return {{"batch", deployment.batch},
          {"rounds", deployment.rounds},
          {"batch_latency_ms", deployment.batch_latency_ms},
          {"batch_throughput_sps", deployment.batch_throughput_sps},
          {"stream_avg_latency_ms", deployment.stream_avg_latency_ms},
          {"stream_throughput_sps", deployment.stream_throughput_sps},
          {"latency_multiplier", deployment.latency_multiplier}};
}

Deployment deployment_of(const Json& record) {
  return {.batch = record.at("batch").get<std::int64_t>(),
          .rounds = record.at("rounds").get<std::size_t>(),
          .batch_latency_ms = record.at("batch_latency_ms").get<double>(),
          .batch_throughput_sps = record.at("batch_throughput_sps").get<double>(),
          .stream_avg_latency_ms = record.at("stream_avg_latency_ms").get<double>(),
          .stream_throughput_sps = record.at("stream_throughput_sps").get<double>(),
          .latency_multiplier = record.at("latency_multiplier").get<double>()};
}

Json task_record(const SweepTask& task) {
  return {{"id", task.id},
          {"kind", name(task.kind)},
          {"input", task.input},
          {"baseline", task.baseline},
          {"seed", task.seed},
          {"level", task.pruning_level},
          {"precision", task.precision},
          {"batch", task.batch_size},
          {"threads", task.threads}};
}

SweepTask task_of(const Json& record) {
  return {.id = record.at("id").get<std::string>(),
          .kind = kind_named(record.at("kind").get<std::string>()),
          .input = record.at("input").get<std::string>(),
          .baseline = record.at("baseline").get<std::string>(),
          .seed = record.at("seed").get<std::uint64_t>(),
          .pruning_level = record.at("level").get<double>(),
          .precision = record.at("precision").get<std::string>(),
          .batch_size = record.at("batch").get<std::int64_t>(),
          .threads = record.at("threads").get<int>()};
}

}  // namespace assay::sweep
