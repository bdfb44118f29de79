// assay.hardware: layers, their summary and its files.
#include "assay/hardware_report.h"

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/hardware_comparison.h"
#include "assay/layer_estimate.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"

namespace assay::python {

namespace {

using LayerRow = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

LayerRow row_of(const LayerEstimate& layer) {
  return {layer.layer, layer.output_elements, layer.parameter_bytes, layer.activation_bytes,
          layer.macs};
}

std::vector<LayerEstimate> layers_of(const std::vector<LayerRow>& rows) {
  std::vector<LayerEstimate> layers;
  for (const auto& [layer, elements, parameters, activations, macs] : rows) {
    layers.push_back({layer, elements, parameters, activations, macs});
  }
  return layers;
}

std::vector<LayerRow> estimate(const Model& model, std::int64_t batch_size, const Dims& input_shape,
                               std::optional<std::int64_t> bytes_per_value) {
  return naming(model, [&] {
    std::vector<LayerRow> rows;
    for (const LayerEstimate& layer :
         estimate_layerwise_stats(model.graph, batch_size, input_shape, bytes_per_value)) {
      rows.push_back(row_of(layer));
    }
    return rows;
  });
}

py::dict dict_of(const HardwareSummary& summary) {
  py::dict keys;
  keys["estimated_total_bytes"] = summary.estimated_total_bytes;
  keys["estimated_total_macs"] = summary.estimated_total_macs;
  keys["achieved_bandwidth_gbps"] = summary.achieved_bandwidth_gbps;
  keys["configured_memory_bandwidth_gbps"] = summary.configured_memory_bandwidth_gbps;
  keys["bandwidth_utilization"] = summary.bandwidth_utilization;
  keys["achieved_gmacs"] = summary.achieved_gmacs;
  keys["arithmetic_intensity_macs_per_byte"] = summary.arithmetic_intensity_macs_per_byte;
  if (summary.configured_peak_compute_gmacs) {
    keys["configured_peak_compute_gmacs"] = summary.configured_peak_compute_gmacs;
    keys["roofline_knee_macs_per_byte"] = summary.roofline_knee_macs_per_byte;
    keys["bound_regime"] = summary.bound_regime;
  }
  keys["latency_ms"] = summary.latency_ms;
  keys["clamped"] = clamped_figures(summary);
  return keys;
}

HardwareSummary summarize(const std::vector<LayerRow>& rows, double latency_ms,
                          double memory_bandwidth_gbps, std::optional<double> peak_compute_gmacs) {
  return summarize_hardware(layers_of(rows), latency_ms, memory_bandwidth_gbps, peak_compute_gmacs);
}

py::dict interpret(const HardwareSummary& summary, const std::vector<LayerRow>& rows) {
  const UtilizationReading reading = interpret_utilization(summary, layers_of(rows));
  py::dict keys;
  keys["utilization"] = std::string(name(reading.utilization));
  keys["sentence"] = reading.sentence;
  keys["advice"] = reading.advice;
  return keys;
}

std::vector<PrecisionTradeoff> tradeoffs(const std::vector<py::dict>& rows) {
  std::vector<PrecisionRow> read;
  for (const py::dict& row : rows) {
    const auto figure = [&](const char* key) {
      return row.contains(key) ? row[key].cast<std::optional<double>>() : std::nullopt;
    };
    read.push_back({.precision = py::str(row["precision"]),
                    .accuracy = figure("accuracy"),
                    .latency_ms = figure("latency_ms"),
                    .memory_mb = figure("memory_mb"),
                    .energy_proxy_j = figure("energy_proxy_j"),
                    .accepted = row["accepted"].cast<bool>(),
                    .error = row.contains("error") ? row["error"].cast<std::string>() : ""});
  }
  return precision_tradeoff_table(read);
}

py::dict dict_of(const PrecisionTradeoff& row) {
  py::dict keys;
  keys["precision"] = row.precision;
  keys["accuracy_mean"] = row.accuracy_mean;
  keys["latency_ms_mean"] = row.latency_ms_mean;
  keys["memory_mb_mean"] = row.memory_mb_mean;
  keys["energy_proxy_j_mean"] = row.energy_proxy_j_mean;
  keys["accepted_ratio"] = row.accepted_ratio;
  return keys;
}

using TradeoffRow = std::tuple<std::string, std::optional<double>, std::optional<double>,
                               std::optional<double>, std::optional<double>, double>;

std::vector<std::string> save_artifacts(const std::string& folder,
                                        const std::vector<LayerRow>& rows,
                                        const std::vector<TradeoffRow>& table,
                                        const HardwareSummary& summary, const std::string& model) {
  std::vector<PrecisionTradeoff> tradeoffs;
  for (const auto& [precision, accuracy, latency, memory, energy, ratio] : table) {
    tradeoffs.push_back({precision, accuracy, latency, memory, energy, ratio});
  }
  std::vector<std::string> paths;
  for (const auto& path :
       save_hardware_artifacts(folder, layers_of(rows), tradeoffs, summary, model)) {
    paths.push_back(path.string());
  }
  return paths;
}

// Often quoted devices and the catalogue, or only the devices named.
std::vector<ComparedDevice> devices_to_compare(const std::vector<std::string>& ids,
                                               const std::string& described) {
  std::vector<Device> known = with_described_devices(built_in_devices(), described);
  if (!ids.empty()) return compared_devices(devices_named(known, ids));
  std::vector<ComparedDevice> devices = reference_devices();
  sort_devices(known);
  for (ComparedDevice& device : compared_devices(known)) devices.push_back(std::move(device));
  return devices;
}

ComparedDevice compared(const Machine& machine) {
  const std::vector<Device> device = {device_from_machine(machine, "this-machine")};
  std::vector<ComparedDevice> measured = compared_devices(device);
  if (measured.empty()) fail_bad_input("this machine: no bandwidth was measured");
  measured.front().name = "this machine";
  return measured.front();
}

py::list compare(const std::vector<LayerRow>& rows, double latency_ms,
                 const std::vector<std::string>& ids, const std::string& described,
                 const std::optional<ChosenMachine>& machine) {
  std::vector<ComparedDevice> devices = devices_to_compare(ids, described);
  if (machine) devices.push_back(compared(machine->machine));
  py::list table;
  for (const DeviceComparisonRow& row : compare_devices(layers_of(rows), latency_ms, devices)) {
    py::dict keys;
    keys["device"] = row.device.name;
    keys["memory_bandwidth_gbps"] = row.device.memory_bandwidth_gbps;
    keys["peak_compute_gmacs"] = row.device.peak_compute_gmacs;
    keys["bandwidth_utilization"] = row.summary.bandwidth_utilization;
    keys["roofline_latency_ms"] = row.roofline_latency_ms;
    keys["note"] = row.device.note;
    table.append(keys);
  }
  return table;
}

}  // namespace

void bind_hardware(py::module_& module) {
  py::class_<HardwareSummary>(module, "HardwareSummary")
      .def("keys_and_values", [](const HardwareSummary& summary) { return dict_of(summary); });
  module.def("estimate_layerwise_stats", &estimate, py::call_guard<py::gil_scoped_release>());
  module.def("summarize_hardware", &summarize);
  module.def("hardware_summary_limits", &hardware_summary_limits);
  module.def("interpret_utilization", &interpret);
  module.def("precision_tradeoff_table", [](const std::vector<py::dict>& rows) {
    py::list table;
    for (const PrecisionTradeoff& row : tradeoffs(rows)) table.append(dict_of(row));
    return table;
  });
  module.def("save_hardware_artifacts", &save_artifacts, py::call_guard<py::gil_scoped_release>());
  module.def("compare_devices", &compare);
  module.def("compare_summaries", [](const HardwareSummary& before, const HardwareSummary& after) {
    py::list table;
    for (const ImpactFigure& figure : compare_summaries(before, after)) {
      py::dict keys;
      keys["figure"] = figure.name;
      keys["before"] = figure.before;
      keys["after"] = figure.after;
      keys["change_percent"] = figure.change_percent;
      table.append(keys);
    }
    return table;
  });
}

}  // namespace assay::python
