#include "optimize/quantize/calibrated_model.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "transform/quantize/bias_correction.h"
#include "transform/quantize/equalize.h"
#include "transform/quantize/prepare.h"

namespace assay::optimize {

namespace {

void check_quantize_options(const QuantizeOptions& options) {
  if (!(options.percentile > 50 && options.percentile <= 100))
    fail_usage("a percentile of {} is not possible; choose one above 50 and up to 100",
               options.percentile);
}

// Those that have a bias, or can get one.
bool may_correct(const Graph& graph, const Node& node) {
  if (node.is("Conv")) return transform::layer_weight(graph, node) != nullptr;
  return node.is("Gemm") && node.int_or("transA", 0) == 0 &&
         transform::layer_weight(graph, node) != nullptr;
}

ObserveRequest request_for(const Graph& graph, const transform::QuantizationPlan& plan,
                           const QuantizeOptions& options) {
  ObserveRequest request;
  request.histograms = options.calibration != CalibrationMethod::MinMax;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const ValueId id{i};
    if (plan.range_from[i] == id && graph.initializer(id) == nullptr) request.ranges.push_back(id);
  }
  if (!options.correct_bias) return request;
  for (const auto& layer : plan.layers) {
    const Node& node = graph.node(layer.node);
    const auto& shape = graph.value(node.inputs[0]).type.shape;
    if (layer.why_float.empty() && may_correct(graph, node) && shape)
      request.means[node.inputs[0]] = transform::input_channel_axis(node, shape->rank());
  }
  return request;
}

// Of a constant operand.
ValueRange constant_range(const Graph& graph, ValueId id) {
  const auto numbers = graph.initializer(id)->to_vector<float>();
  const auto [least, greatest] = std::ranges::minmax(numbers);
  return {least, greatest};
}

}  // namespace

CalibratedModel::CalibratedModel(const Graph& model, const CalibrationData& data,
                                 const QuantizeOptions& options, Progress* progress)
    : options_(options), graph_(transform::prepared_to_quantize(model)) {
  if (options.equalize) graph_ = transform::equalize_layers(graph_).graph;
  check_quantize_options(options);
  check_opset();
  check_names(options.keep_float);
  const transform::QuantizationPlan plan = plan_of({});
  observed_ = observe(graph_, data, request_for(graph_, plan, options), options.program, progress);
  choose_scales(plan);
  if (options.correct_bias) correct_biases(plan);
}

void CalibratedModel::check_names(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const bool is_known =
        std::ranges::any_of(graph_.nodes(), [&](const Node& node) { return node.name == name; });
    if (!is_known) fail_usage("the model has no layer '{}' to keep in float", name);
  }
}

void CalibratedModel::check_opset() const {
  if (graph_.opset() < kFirstQuantizedOpset)
    fail_bad_input(
        "operator set {} has no 8-bit layers; export the model with operator set {} or later",
        graph_.opset(), kOpsetWithAxes);
}

transform::QuantizationPlan CalibratedModel::plan_of(const LayerChoice& choice) const {
  transform::PlanOptions how;
  how.keep_float.insert(options_.keep_float.begin(), options_.keep_float.end());
  how.keep_float.insert(choice.keep_float.begin(), choice.keep_float.end());
  how.only.insert(choice.only.begin(), choice.only.end());
  return transform::plan_quantization(graph_, how);
}

void CalibratedModel::choose_scales(const transform::QuantizationPlan& plan) {
  scales_.resize(graph_.value_count());
  for (std::uint32_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{i};
    if (plan.range_from[i] != id) continue;
    const bool is_constant = graph_.initializer(id) != nullptr;
    const ValueRange range = is_constant ? constant_range(graph_, id)
                                         : chosen_range(observed_.values.at(id),
                                                        options_.calibration, options_.percentile);
    scales_[i] = transform::scale_for_range(range.least, range.greatest);
    if (is_constant) continue;
    const ValueRange& seen = observed_.values.at(id).range;
    if (seen.least == seen.greatest)
      warnings_.push_back(fmt::format("'{}' is {} in every element of the calibration data",
                                      graph_.value(id).name, seen.least));
  }
  // With other layers in float, a value that was only moved may need a scale of its own.
  for (std::uint32_t i = 0; i < graph_.value_count(); ++i) {
    if (plan.range_from[i].is_valid()) scales_[i] = scales_[plan.range_from[i].number];
  }
}

void CalibratedModel::correct_biases(const transform::QuantizationPlan& plan) {
  for (const auto& layer : plan.layers) {
    const Node& node = graph_.node(layer.node);
    const auto means = observed_.means.find(node.inputs[0]);
    if (!layer.why_float.empty() || !may_correct(graph_, node) || means == observed_.means.end())
      continue;
    corrections_.emplace(
        layer.node, transform::bias_correction(graph_, node, means->second, options_.per_channel));
  }
}

QuantizeResult CalibratedModel::quantized(const LayerChoice& choice) const {
  const transform::QuantizationPlan plan = plan_of(choice);
  const bool has_axes = graph_.opset() >= kOpsetWithAxes;
  transform::QdqGraph written = transform::write_qdq(
      graph_, plan, scales_,
      {.per_channel = options_.per_channel && has_axes, .bias_corrections = corrections_});
  QuantizeResult result{.graph = std::move(written.graph)};
  result.samples = observed_.samples;
  result.warnings = warnings_;
  if (options_.per_channel && !has_axes)
    result.warnings.push_back(
        fmt::format("operator set {} has no scales per channel, so weights have one scale each; "
                    "export the model "
                    "with operator set {} or later",
                    graph_.opset(), kOpsetWithAxes));
  result.warnings.insert(result.warnings.end(), written.warnings.begin(), written.warnings.end());
  for (const auto& layer : plan.layers)
    result.layers.push_back(described(plan, layer, written.weight_scales));
  describe_activations(plan, result);
  return result;
}

QuantizedLayer CalibratedModel::described(
    const transform::QuantizationPlan& plan, const transform::PlannedLayer& layer,
    const std::map<NodeId, std::vector<float>>& weight_scales) const {
  const Node& node = graph_.node(layer.node);
  QuantizedLayer told{.name = node.name, .op = node.op, .why_float = layer.why_float};
  told.type = layer.why_float.empty() ? "int8" : "fp32";
  if (!layer.why_float.empty()) return told;
  const auto found = weight_scales.find(layer.node);
  if (found != weight_scales.end()) told.weight_scales = found->second;
  const transform::LinearScale input = scale_of(plan, node.inputs[0]);
  told.input_scale = input.scale;
  told.input_zero_point = input.zero_point;
  const transform::LinearScale output = scale_of(plan, stored_result(plan, node));
  told.output_scale = output.scale;
  told.output_zero_point = output.zero_point;
  return told;
}

// The layer's own, or that of the Relu or Clip that belongs to it.
ValueId CalibratedModel::stored_result(const transform::QuantizationPlan& plan,
                                       const Node& node) const {
  if (plan.is_quantized(node.outputs[0])) return node.outputs[0];
  for (const Node& reader : graph_.nodes()) {
    if (reader.has_input(0) && reader.inputs[0] == node.outputs[0]) return reader.outputs[0];
  }
  return node.outputs[0];
}

transform::LinearScale CalibratedModel::scale_of(const transform::QuantizationPlan& plan,
                                                 ValueId id) const {
  return plan.is_quantized(id) ? scales_[plan.range_from[id.number].number]
                               : transform::LinearScale{.scale = 0};
}

void CalibratedModel::describe_activations(const transform::QuantizationPlan& plan,
                                           QuantizeResult& result) const {
  for (const auto& [id, seen] : observed_.values) {
    if (plan.range_from[id.number] != id) continue;
    const transform::LinearScale how = scales_[id.number];
    result.activations.push_back({.value = graph_.value(id).name,
                                  .least = static_cast<float>(seen.range.least),
                                  .greatest = static_cast<float>(seen.range.greatest),
                                  .scale = how.scale,
                                  .zero_point = how.zero_point});
  }
}

}  // namespace assay::optimize
