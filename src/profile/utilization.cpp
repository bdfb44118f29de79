#include <algorithm>
#include <cmath>
#include <functional>

#include "assay/hardware_summary.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay {

namespace {

constexpr std::size_t kNamedLayers = 3;

using Layers = std::vector<LayerEstimate>;
using LayerFigure = std::function<double(const LayerEstimate&)>;

double layer_bytes(const LayerEstimate& layer) {
  return static_cast<double>(layer.parameter_bytes) + static_cast<double>(layer.activation_bytes);
}

double layer_macs(const LayerEstimate& layer) {
  return static_cast<double>(layer.macs);
}

double parameter_bytes_of(const LayerEstimate& layer) {
  return static_cast<double>(layer.parameter_bytes);
}

double activation_bytes_of(const LayerEstimate& layer) {
  return static_cast<double>(layer.activation_bytes);
}

double intensity_of(const LayerEstimate& layer) {
  return layer_macs(layer) / layer_bytes(layer);
}

double sum_of(const Layers& layers, const LayerFigure& figure) {
  double sum = 0;
  for (const LayerEstimate& layer : layers) sum += figure(layer);
  return sum;
}

const LayerEstimate& most(const Layers& layers, const LayerFigure& figure) {
  return *std::ranges::max_element(layers, {}, figure);
}

Layers largest(Layers layers, const LayerFigure& figure) {
  std::ranges::stable_sort(layers, std::greater<>{}, figure);
  std::erase_if(layers, [&](const LayerEstimate& layer) { return figure(layer) <= 0; });
  if (layers.size() > kNamedLayers) layers.resize(kNamedLayers);
  return layers;
}

std::string quoted(const LayerEstimate& layer) {
  return layer.layer.empty() ? "a layer without a name" : "'" + layer.layer + "'";
}

std::string percent(double part, double whole) {
  const double percents = 100.0 * part / whole;
  return percents < 1 ? fmt::format("{:.2g}%", percents) : fmt::format("{:.0f}%", percents);
}

std::string mac_text(double macs) {
  return with_si_suffix(macs) + " MACs";
}

// "'fc' (7.81 MiB, 45 %), 'conv1' (3.06 MiB, 18 %)"
std::string listed(const Layers& layers, const LayerFigure& figure,
                   const std::function<std::string(double)>& text) {
  const double whole = sum_of(layers, figure);
  std::vector<std::string> parts;
  for (const LayerEstimate& layer : largest(layers, figure)) {
    parts.push_back(fmt::format("{} ({}, {})", quoted(layer), text(figure(layer)),
                                percent(figure(layer), whole)));
  }
  return join(parts, ", ");
}

// All inputs of the advice.
struct Case {
  const HardwareSummary& summary;
  const Layers& layers;
  double bytes = static_cast<double>(summary.estimated_total_bytes);
  double macs = static_cast<double>(summary.estimated_total_macs);
};

std::string bytes_listed(const Case& model) {
  return listed(model.layers, layer_bytes, with_binary_unit);
}

std::string macs_listed(const Case& model) {
  return listed(model.layers, layer_macs, mac_text);
}

// By fewer MACs per byte, then by more bytes.
bool comes_first(const LayerEstimate& one, const LayerEstimate& other) {
  if (intensity_of(one) != intensity_of(other)) return intensity_of(one) < intensity_of(other);
  return layer_bytes(one) > layer_bytes(other);
}

// The layer with the fewest MACs per byte, among those that move at least half of the average.
const LayerEstimate& least_intense(const Case& model) {
  const double average = model.bytes / static_cast<double>(model.layers.size());
  const LayerEstimate* least = nullptr;
  for (const LayerEstimate& layer : model.layers) {
    const bool matters = layer_bytes(layer) >= 0.5 * average;
    if (matters && (!least || comes_first(layer, *least))) least = &layer;
  }
  return *least;
}

std::string intensity_text(const Case& model, const LayerEstimate& layer) {
  return fmt::format("{} does {:.3g} MACs per byte, the model {:.3g}", quoted(layer),
                     intensity_of(layer), model.macs / model.bytes);
}

// The width of most values, in bytes; it decides what a lower precision can save.
std::optional<double> value_width(const Case& model) {
  const LayerEstimate& layer = most(model.layers, [](const LayerEstimate& one) {
    return static_cast<double>(one.output_elements);
  });
  if (layer.output_elements <= 0 || layer.activation_bytes <= 0) return std::nullopt;
  return activation_bytes_of(layer) / static_cast<double>(layer.output_elements);
}

std::string precision_text(const Case& model) {
  const auto width = value_width(model);
  if (!width)
    return fmt::format("values of half the width would move {}", with_binary_unit(model.bytes / 2));
  if (*width <= 1) return fmt::format("values already take {:.2g} bytes", *width);
  std::vector<std::string> choices;
  for (const double narrower : {2.0, 1.0}) {
    if (narrower >= *width) continue;
    choices.push_back(fmt::format("{} with {:.0f} byte{} a value",
                                  with_binary_unit(model.bytes * narrower / *width), narrower,
                                  narrower > 1 ? "s" : ""));
  }
  return fmt::format("{} at {:.2g} bytes a value become {}", with_binary_unit(model.bytes), *width,
                     join(choices, ", "));
}

std::string batch_text(const Case& model) {
  const double parameters = sum_of(model.layers, parameter_bytes_of);
  const LayerEstimate& layer = most(model.layers, parameter_bytes_of);
  if (parameters <= 0)
    return "Batch sizes: no parameters to share, a larger batch only moves more.";
  return fmt::format(
      "Batch sizes: parameters are {} of the bytes, most of them in {} ({}); a larger batch shares "
      "them.",
      percent(parameters, model.bytes), quoted(layer), with_binary_unit(parameter_bytes_of(layer)));
}

std::vector<std::string> memory_bound_advice(const Case& model) {
  std::vector<std::string> advice;
  advice.push_back("Prune channels where most bytes move: " + bytes_listed(model) + ".");
  advice.push_back("Raise intensity: " + intensity_text(model, least_intense(model)) +
                   "; a larger batch or fusing it with its neighbours helps.");
  advice.push_back("Lower precision: " + precision_text(model) + ".");
  const LayerEstimate& widest = most(model.layers, activation_bytes_of);
  if (widest.activation_bytes > 0) {
    advice.push_back(
        fmt::format("Tile: {} writes {}, the most of all; work on parts that stay in cache.",
                    quoted(widest), with_binary_unit(activation_bytes_of(widest))));
  }
  return advice;
}

std::vector<std::string> balanced_advice(const Case& model) {
  std::vector<std::string> advice;
  if (model.macs > 0) advice.push_back("Single layers, work: " + macs_listed(model) + ".");
  advice.push_back("Single layers, bytes: " + bytes_listed(model) + ".");
  advice.push_back(batch_text(model));
  advice.push_back("Precisions: " + precision_text(model) + "; measure which is fastest.");
  return advice;
}

std::string small_model_text(const Case& model) {
  const double transfer_ms = model.bytes / model.summary.assumed_memory_bandwidth_gbps / 1e6;
  return fmt::format("Small model: its {} take {:.3g} of the {:.3g} ms at {:.3g} GB/s.",
                     with_binary_unit(model.bytes), transfer_ms, model.summary.latency_ms,
                     model.summary.assumed_memory_bandwidth_gbps);
}

std::string slow_cores_text(const Case& model) {
  const auto& peak = model.summary.configured_peak_compute_gmacs;
  const std::string of_peak =
      peak ? fmt::format(", {} of the peak", percent(model.summary.achieved_gmacs, *peak)) : "";
  return fmt::format("Slow cores: {:.3g} GMAC/s are reached{}; most work is in {}.",
                     model.summary.achieved_gmacs, of_peak, macs_listed(model));
}

std::string overhead_text(const Case& model) {
  const double count = static_cast<double>(model.layers.size());
  const LayerEstimate& least = *std::ranges::min_element(model.layers, {}, layer_bytes);
  return fmt::format(
      "Framework overhead: {} layer{}, {:.3g} ms each on average, though {} moves only {}.",
      model.layers.size(), model.layers.size() == 1 ? "" : "s", model.summary.latency_ms / count,
      quoted(least), with_binary_unit(layer_bytes(least)));
}

std::vector<std::string> compute_bound_advice(const Case& model) {
  std::vector<std::string> advice = {small_model_text(model)};
  if (model.macs > 0) advice.push_back(slow_cores_text(model));
  advice.push_back("Poor locality: " + intensity_text(model, least_intense(model)) +
                   "; check its memory access pattern.");
  advice.push_back(overhead_text(model));
  const LayerEstimate& heaviest = most(model.layers, model.macs > 0 ? layer_macs : layer_bytes);
  advice.push_back(fmt::format("Quantise or accelerate, {} first: {}.", quoted(heaviest),
                               precision_text(model)));
  return advice;
}

// The class depends on the time of a run, the regime on its work alone.
std::string disagreement(const HardwareSummary& summary, UtilizationClass utilization) {
  if (!summary.bound_regime) return "";
  const bool is_below_knee = *summary.bound_regime == "memory-bound";
  const bool differs = utilization == (is_below_knee ? UtilizationClass::ComputeBound
                                                     : UtilizationClass::MemoryBound);
  if (!differs) return "";
  return fmt::format(
      " The regime is {} nevertheless: {:.3g} MACs per byte lie {} the knee at {:.3g}; {}.",
      *summary.bound_regime, *summary.arithmetic_intensity_macs_per_byte,
      is_below_knee ? "below" : "not below", *summary.roofline_knee_macs_per_byte,
      is_below_knee ? "most of the time is not spent on memory"
                    : "caches or a low figure for the bandwidth may explain this utilisation");
}

std::string sentence_of(const HardwareSummary& summary, UtilizationClass utilization) {
  return fmt::format("{}: {:.3g} GB/s of {:.3g} GB/s are used, {:.1f}%.{}", name(utilization),
                     summary.achieved_bandwidth_gbps, summary.assumed_memory_bandwidth_gbps,
                     100.0 * summary.bandwidth_utilization, disagreement(summary, utilization));
}

std::vector<std::string> advice_for(UtilizationClass utilization, const Case& model) {
  if (model.bytes <= 0)
    return {"No bytes are moved, so the bandwidth says nothing about this model."};
  switch (utilization) {
    case UtilizationClass::MemoryBound:
      return memory_bound_advice(model);
    case UtilizationClass::Balanced:
      return balanced_advice(model);
    case UtilizationClass::ComputeBound:
      break;
  }
  return compute_bound_advice(model);
}

}  // namespace

UtilizationClass utilization_class(double bandwidth_utilization) {
  if (bandwidth_utilization > 0.8) return UtilizationClass::MemoryBound;
  return bandwidth_utilization < 0.2 ? UtilizationClass::ComputeBound : UtilizationClass::Balanced;
}

std::string_view name(UtilizationClass utilization) {
  switch (utilization) {
    case UtilizationClass::MemoryBound:
      return "memory-bound";
    case UtilizationClass::Balanced:
      return "balanced";
    case UtilizationClass::ComputeBound:
      break;
  }
  return "compute-bound or inefficient access";
}

UtilizationReading interpret_utilization(const HardwareSummary& summary, const Layers& layers) {
  if (layers.empty()) fail_bad_input("utilisation: there are no layers to give advice on");
  const UtilizationClass utilization = utilization_class(summary.bandwidth_utilization);
  return {utilization, sentence_of(summary, utilization),
          advice_for(utilization, {.summary = summary, .layers = layers})};
}

}  // namespace assay
