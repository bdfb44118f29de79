// assay.metrics: accuracy, latency, memory and energy.
#include "assay/metrics.h"

#include "assay/latency.h"
#include "assay/memory_budget.h"
#include "assay/run.h"
#include "python/src/call.h"
#include "python/src/model.h"

namespace assay::python {

namespace {

Loader loader_of(const Dataset& data, std::int64_t batch_size) {
  return Loader(data, {.batch_size = std::min(batch_size, data.size()), .shuffle = false});
}

py::dict dict_of(const PerfMetrics& metrics) {
  py::dict keys;
  keys["accuracy"] = metrics.accuracy;
  keys["accuracy_ci95_low"] = metrics.accuracy_ci95_low;
  keys["accuracy_ci95_high"] = metrics.accuracy_ci95_high;
  keys["latency_ms"] = metrics.latency_ms;
  keys["latency_median_ms"] = metrics.latency_median_ms;
  keys["latency_std_ms"] = metrics.latency_std_ms;
  keys["latency_p95_ms"] = metrics.latency_p95_ms;
  keys["latency_ci95_low_ms"] = metrics.latency_ci95_low_ms;
  keys["latency_ci95_high_ms"] = metrics.latency_ci95_high_ms;
  keys["throughput_sps"] = metrics.throughput_sps;
  keys["memory_mb"] = metrics.memory_mb;
  keys["runtime_memory_mb"] = metrics.runtime_memory_mb;
  keys["energy_proxy_j"] = metrics.energy_proxy_j;
  keys["energy_measured_j"] = metrics.energy_measured_j;
  keys["energy_note"] = metrics.energy_note;
  return keys;
}

py::dict collect(const Model& model, const Dataset& data, std::int64_t batch_size,
                 const std::string& device, double power_watts, const std::string& precision,
                 double latency_multiplier, std::size_t repeats, std::size_t num_runs,
                 std::size_t warmup, const RunOptions& run, const py::object& progress) {
  const MetricsOptions options{.num_runs = num_runs, .warmup = warmup, .program = run.program};
  return dict_of(call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      return collect_metrics(model.graph, loader_of(data, batch_size), device, power_watts,
                             precision, latency_multiplier, repeats, options, &reports);
    });
  }));
}

py::dict dict_of(const LatencyDistribution& distribution) {
  py::dict keys;
  keys["mean_ms"] = distribution.mean_ms;
  keys["std_ms"] = distribution.std_ms;
  keys["p95_ms"] = distribution.p95_ms;
  keys["median_ms"] = distribution.median_ms;
  keys["min_ms"] = distribution.min_ms;
  keys["max_ms"] = distribution.max_ms;
  keys["ci95_low_ms"] = distribution.ci95_low_ms;
  keys["ci95_high_ms"] = distribution.ci95_high_ms;
  keys["repeat_means_ms"] = distribution.repeat_means_ms;
  keys["samples_ms"] = distribution.samples_ms;
  return keys;
}

}  // namespace

void bind_metrics(py::module_& module) {
  module.def("collect_metrics", &collect);
  module.def("evaluate_accuracy", [](const Model& model, const Dataset& data,
                                     std::int64_t batch_size, const std::string& device,
                                     const std::string& precision, const py::object& progress) {
    return call(progress, [&](Progress& reports) {
      return naming(model, [&] {
        return evaluate_accuracy(model.graph, loader_of(data, batch_size), device, precision,
                                 &reports);
      });
    });
  });
  module.def("measure_latency", [](const Model& model, const std::vector<Tensor>& inputs,
                                   std::size_t num_runs, std::size_t warmup, const RunOptions& run,
                                   const py::object& progress) {
    return call(progress, [&](Progress& reports) {
      return naming(model, [&] {
        return measure_latency(model.graph, inputs, num_runs, warmup, run.program, &reports);
      });
    });
  });
  module.def("measure_latency_distribution",
             [](const Model& model, const std::vector<Tensor>& inputs, std::size_t repeats,
                std::size_t num_runs, std::size_t warmup, const RunOptions& run,
                const py::object& progress) {
               return dict_of(call(progress, [&](Progress& reports) {
                 return naming(model, [&] {
                   return measure_latency_distribution(model.graph, inputs, repeats, num_runs,
                                                       warmup, run.program, &reports);
                 });
               }));
             });
  module.def("model_memory_mb", [](const Model& model) { return model_memory_mb(model.graph); });
  module.def("memory_violations", [](double memory_mb, const std::vector<double>& budgets) {
    py::dict violations;
    for (const auto& [key, is_violated] : memory_violations(memory_mb, budgets)) {
      violations[py::str(key)] = is_violated;
    }
    return violations;
  });
}

}  // namespace assay::python
