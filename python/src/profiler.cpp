#include "assay/profiler.h"

#include "assay/run.h"
#include "python/src/call.h"
#include "python/src/model.h"

namespace assay::python {

namespace {

py::dict dict_of(const MemoryFigures& figures) {
  py::dict keys;
  keys["parameter_memory_mb"] = figures.parameter_memory_mb;
  keys["activation_memory_mb"] = figures.activation_memory_mb;
  keys["peak_memory_mb"] = figures.peak_memory_mb;
  keys["memory_efficiency"] = figures.memory_efficiency;
  keys["peak_rss_growth_mb"] = figures.peak_rss_growth_mb;
  return keys;
}

py::dict dict_of(const ForwardPass& pass) {
  py::dict keys;
  keys["parameters"] = pass.parameters;
  keys["flops"] = pass.flops;
  keys["latency_ms"] = pass.latency_ms;
  keys.attr("update")(dict_of(static_cast<const MemoryFigures&>(pass)));
  keys["gflops_per_second"] = pass.gflops_per_second;
  keys["memory_bandwidth_mbs"] = pass.memory_bandwidth_mbs;
  keys["counted_traffic_mbs"] = pass.counted_traffic_mbs;
  keys["executed_flops"] = pass.executed_flops;
  keys["computational_efficiency"] = pass.computational_efficiency;
  keys["is_memory_bound"] = pass.is_memory_bound;
  keys["is_compute_bound"] = pass.is_compute_bound;
  keys["bottleneck"] = pass.bottleneck;
  return keys;
}

py::dict dict_of(const BackwardPass& pass) {
  py::dict keys;
  keys["forward_flops"] = pass.forward_flops;
  keys["loss_flops"] = pass.loss_flops;
  keys["forward_latency_ms"] = pass.forward_latency_ms;
  keys["forward_memory_mb"] = pass.forward_memory_mb;
  keys["backward_flops"] = pass.backward_flops;
  keys["backward_flops_rule"] = pass.backward_flops_rule;
  keys["backward_latency_ms"] = pass.backward_latency_ms;
  keys["gradient_memory_mb"] = pass.gradient_memory_mb;
  keys["total_flops"] = pass.total_flops;
  keys["total_latency_ms"] = pass.total_latency_ms;
  keys["total_memory_mb"] = pass.total_memory_mb;
  keys["total_gflops_per_second"] = pass.total_gflops_per_second;
  keys["optimizer_memory_estimates"] = pass.optimizer_memory_estimates;
  keys["memory_efficiency"] = pass.memory_efficiency;
  keys["bottleneck"] = pass.bottleneck;
  keys["update_latency_ms"] = pass.update_latency_ms;
  keys["flops_ratio"] = pass.flops_ratio;
  keys["latency_ratio"] = pass.latency_ratio;
  return keys;
}

// A Profiler for one call, which the call's progress can stop.
template <typename Work>
auto with_profiler(const Model& model, const RunOptions& run, const py::object& progress,
                   const Work& work) {
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] { return work(Profiler(run.program, &reports)); });
  });
}

}  // namespace

void bind_profiler(py::module_& module) {
  module.def(
      "count_parameters",
      [](const Model& model) {
        return naming(model, [&] { return Profiler().count_parameters(model.graph); });
      },
      py::call_guard<py::gil_scoped_release>());
  module.def(
      "count_flops",
      [](const Model& model, const Dims& shape) {
        return naming(model, [&] { return Profiler().count_flops(model.graph, shape); });
      },
      py::call_guard<py::gil_scoped_release>());
  module.def("measure_memory", [](const Model& model, const Dims& shape, const RunOptions& run,
                                  const py::object& progress) {
    return dict_of(with_profiler(model, run, progress, [&](const Profiler& profiler) {
      return profiler.measure_memory(model.graph, shape);
    }));
  });
  module.def("measure_median_latency",
             [](const Model& model, const std::vector<Tensor>& inputs, std::size_t warmup,
                std::size_t iterations, const RunOptions& run, const py::object& progress) {
               return with_profiler(model, run, progress, [&](const Profiler& profiler) {
                 return profiler.measure_latency(model.graph, inputs, warmup, iterations);
               });
             });
  module.def("profile_forward_pass", [](const Model& model, const std::vector<Tensor>& inputs,
                                        const RunOptions& run, const py::object& progress) {
    return dict_of(with_profiler(model, run, progress, [&](const Profiler& profiler) {
      return profiler.profile_forward_pass(model.graph, inputs);
    }));
  });
  module.def("profile_backward_pass",
             [](const Model& model, const std::vector<Tensor>& inputs, const std::string& loss,
                const RunOptions& run, const py::object& progress) {
               const Loss chosen = loss_named(loss);
               return dict_of(with_profiler(model, run, progress, [&](const Profiler& profiler) {
                 return profiler.profile_backward_pass(model.graph, inputs, chosen);
               }));
             });
}

}  // namespace assay::python
