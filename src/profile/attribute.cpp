#include "profile/attribute.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace assay::profile {

namespace {

void add_cost(LayerCost& to, const LayerCost& from) {
  for (const auto figure :
       {&LayerCost::parameters, &LayerCost::macs, &LayerCost::effective_macs,
        &LayerCost::bias_flops, &LayerCost::other_flops, &LayerCost::flops, &LayerCost::bytes_read,
        &LayerCost::bytes_written, &LayerCost::parameter_bytes, &LayerCost::activation_bytes}) {
    to.*figure = saturating_add(to.*figure, from.*figure);
  }
  const bool is_worse = from.answer == Answer::Unknown || to.answer == Answer::Free;
  if (to.answer != Answer::Unknown && is_worse) to.answer = from.answer;
  if (to.note.empty()) to.note = from.note;
  if (to.form.empty()) to.form = from.form;
}

LayerCost row_for(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  LayerCost row{.name = graph.display_name(id),
                .op = node.is_standard() ? node.op : node.domain + "." + node.op,
                .node = id};
  if (node.has_output(0)) row.output_shape = graph.value(node.outputs[0]).type.shape;
  return row;
}

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

double step_bytes(const StepInfo& step) {
  return static_cast<double>(step.bytes_read) + static_cast<double>(step.bytes_written);
}

// The step's layers that exist in the model: an engine may compute others.
std::vector<std::size_t> rows_of(const StepInfo& step, std::size_t nodes) {
  std::vector<std::size_t> rows;
  for (const NodeId id : step.layers) {
    if (id.is_valid() && id.number < nodes) rows.push_back(id.number);
  }
  return rows;
}

std::size_t node_rows(const std::vector<ProfileLayer>& layers) {
  const auto has_node = [](const ProfileLayer& layer) { return layer.cost.node.is_valid(); };
  return static_cast<std::size_t>(std::ranges::count_if(layers, has_node));
}

std::optional<double> flops_of(const std::vector<std::size_t>& rows,
                               const std::vector<ProfileLayer>& layers) {
  double flops = 0;
  for (const std::size_t row : rows) {
    if (layers[row].cost.answer == Answer::Unknown) return std::nullopt;
    flops += static_cast<double>(layers[row].cost.flops);
  }
  return flops;
}

std::size_t main_of(const std::vector<std::size_t>& rows, const std::vector<ProfileLayer>& layers) {
  const auto flops = [&](std::size_t row) { return layers[row].cost.flops; };
  return *std::ranges::max_element(rows, {}, flops);
}

struct Work {
  std::optional<double> flops = {};  // nominal
  double executed_flops = 0;
  double bytes = 0;
};

Rates rates_of(double time_ms, const Work& work) {
  Rates rates;
  if (time_ms <= 0) return rates;
  const double per_second = 1 / (time_ms * 1e6);
  if (work.flops && *work.flops > 0) rates.gflops_per_second = *work.flops * per_second;
  if (work.executed_flops > 0) rates.executed_gflops_per_second = work.executed_flops * per_second;
  if (work.bytes > 0) rates.gbytes_per_second = work.bytes * per_second;
  return rates;
}

// The sum over the steps of one layer.
struct Collected {
  std::vector<std::size_t> steps = {};
  double time_ms = 0;
  double bytes = 0;
  double executed_flops = 0;
  std::vector<std::size_t> rows = {};  // the layers whose work that was, each once
  double median_ms = 0;
  bool fell_back = false;
};

void collect(std::size_t at, const ProfileStep& step, const std::vector<std::size_t>& rows,
             Collected& into) {
  into.steps.push_back(at);
  into.time_ms += step.time_ms;
  into.bytes += step_bytes(step.info);
  into.executed_flops += static_cast<double>(step.info.executed_flops);
  into.median_ms += step.median_ms;
  into.fell_back = into.fell_back || !step.info.fell_back.empty();
  for (const std::size_t row : rows) {
    if (std::ranges::find(into.rows, row) == into.rows.end()) into.rows.push_back(row);
  }
}

// The layer's own times vary: its share is less certain than it looks.
bool is_uneven(double time_ms, double median_ms) {
  constexpr double kFar = 0.2;
  return median_ms > 0 && std::abs(time_ms - median_ms) > kFar * median_ms;
}

std::vector<std::string> warnings_of(const ProfileLayer& layer, const Collected& collected,
                                     bool is_noisy) {
  constexpr double kWorthAWarning = 0.005;  // of the run
  std::vector<std::string> warnings;
  if (collected.fell_back) warnings.emplace_back("fell back");
  if (layer.cost.answer == Answer::Unknown) warnings.emplace_back("not counted");
  const bool matters = layer.share > kWorthAWarning && !is_noisy;
  if (matters && is_uneven(collected.time_ms, collected.median_ms)) {
    warnings.emplace_back("uneven");
  }
  return warnings;
}

void finish(ProfileLayer& layer, const Collected& collected, double run_ms,
            const std::vector<ProfileLayer>& layers) {
  layer.steps = collected.steps;
  layer.time_ms = collected.time_ms;
  layer.share = share_of(collected.time_ms, run_ms);
  layer.rates = rates_of(collected.time_ms, {flops_of(collected.rows, layers),
                                             collected.executed_flops, collected.bytes});
  for (const std::size_t row : collected.rows) {
    if (&layers[row] != &layer) layer.fused.push_back(layers[row].cost.name);
  }
}

ProfileLayer row_of_its_own(const ProfileStep& step) {
  ProfileLayer layer;
  layer.cost.name = step.info.name;
  layer.cost.op = step.info.op;
  layer.cost.note = "a step of the engine";
  return layer;
}

}  // namespace

std::vector<ProfileLayer> layer_rows(const Graph& graph, const CostSheet& sheet) {
  std::vector<ProfileLayer> rows(graph.node_count());
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) rows[i].cost = row_for(graph, NodeId{i});
  for (const LayerCost& cost : sheet.layers) {
    if (cost.node.is_valid() && cost.node.number < graph.node_count()) {
      add_cost(rows[cost.node.number].cost, cost);
    } else {
      rows.push_back({.cost = cost});
    }
  }
  return rows;
}

std::int64_t counted_flops(const StepInfo& step, const std::vector<ProfileLayer>& layers) {
  std::int64_t flops = 0;
  for (const std::size_t row : rows_of(step, node_rows(layers))) {
    if (layers[row].cost.answer == Answer::Unknown) return 0;
    flops = saturating_add(flops, layers[row].cost.flops);
  }
  return flops;
}

std::vector<ProfileStep> step_rows(const std::vector<StepInfo>& steps, const Observation& seen,
                                   const std::vector<ProfileLayer>& layers) {
  const std::size_t nodes = node_rows(layers);
  std::vector<ProfileStep> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ProfileStep row{.info = steps[i],
                    .time_ms = seen.at_median.steps_ms[i],
                    .mean_ms = seen.step_means_ms[i],
                    .median_ms = seen.step_medians_ms[i],
                    .share = share_of(seen.at_median.steps_ms[i], seen.at_median.run_ms)};
    const auto members = rows_of(steps[i], nodes);
    for (const std::size_t member : members) row.layer_names.push_back(layers[member].cost.name);
    row.rates =
        rates_of(row.time_ms, {flops_of(members, layers),
                               static_cast<double>(steps[i].executed_flops), step_bytes(steps[i])});
    rows.push_back(std::move(row));
  }
  return rows;
}

void attribute_steps(const std::vector<ProfileStep>& steps, double run_ms, bool is_noisy,
                     std::vector<ProfileLayer>& layers) {
  const std::size_t nodes = node_rows(layers);
  std::vector<Collected> collected(layers.size());
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const auto members = rows_of(steps[at].info, nodes);
    if (members.empty()) {
      layers.push_back(row_of_its_own(steps[at]));
      collect(at, steps[at], {}, collected.emplace_back());
      continue;
    }
    const std::size_t main = main_of(members, layers);
    collect(at, steps[at], members, collected[main]);
    for (const std::size_t member : members) {
      if (member != main) layers[member].fused_into = layers[main].cost.name;
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (collected[i].steps.empty()) continue;
    finish(layers[i], collected[i], run_ms, layers);
    layers[i].warnings = warnings_of(layers[i], collected[i], is_noisy);
    layers[i].fused_into.clear();
  }
}

}  // namespace assay::profile
