#include "transform/quantize/write_qdq.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/fail.h"
#include "transform/quantize/values.h"
#include "transform/reads.h"

namespace assay::transform {

namespace {

// Sums of products must fit into 32 bits together with the bias.
constexpr double kLargestBias = 1 << 29;

class QdqWriter {
 public:
  QdqWriter(const Graph& graph, const QuantizationPlan& plan,
            const std::vector<LinearScale>& scales, const QdqOptions& options)
      : old_(graph), plan_(plan), scales_(scales), options_(options), names_(graph) {
    result_.graph = graph.declarations();
    read_as_.resize(graph.value_count());
    is_output_.resize(graph.value_count());
    for (const ValueId output : graph.outputs()) is_output_[output.number] = true;
  }

  QdqGraph run() && {
    for (const ValueId input : old_.inputs()) {
      if (plan_.is_quantized(input)) read_as_[input.number] = add_pair(input, input, {});
    }
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) add(NodeId{i});
    add_initializers();
    return std::move(result_);
  }

 private:
  LinearScale scale_of(ValueId id) const { return scales_[plan_.range_from[id.number].number]; }

  ValueId constant(const std::string& name, Tensor tensor) {
    const ValueId id =
        result_.graph.add_value(names_.unique(name), tensor_type(tensor.type(), tensor.shape()));
    result_.graph.add_initializer(id, std::move(tensor));
    return id;
  }
  ValueId value(const std::string& name, DataType type, const ValueType& like) {
    ValueType made = like;
    made.element = type;
    return result_.graph.add_value(names_.unique(name), std::move(made));
  }

  // Values that share a range share the constants.
  std::pair<ValueId, ValueId> scale_constants(ValueId id) {
    const ValueId root = plan_.range_from[id.number];
    const auto found = scale_constants_.find(root);
    if (found != scale_constants_.end()) return found->second;
    const LinearScale how = scale_of(id);
    const std::string& name = old_.value(root).name;
    const auto zero = static_cast<std::uint8_t>(how.zero_point);
    const std::pair made(
        constant(name + "_scale", Tensor::of_float({}, {how.scale})),
        constant(name + "_zero_point",
                 Tensor::of<std::uint8_t>(DataType::UInt8, {}, std::span(&zero, 1))));
    scale_constants_.emplace(root, made);
    return made;
  }

  void add_node(const char* op, const std::string& name, std::vector<ValueId> inputs,
                ValueId output, std::vector<Attribute> attributes = {}) {
    result_.graph.add_node(Node{.name = name,
                                .op = op,
                                .domain = "",
                                .inputs = std::move(inputs),
                                .outputs = {output},
                                .attributes = std::move(attributes)});
  }

  // `computed` → 8 bits → `read`, which is made if it is not given; returns it.
  ValueId add_pair(ValueId id, ValueId computed, ValueId read) {
    const ValueType type = old_.value(id).type;
    const std::string name = old_.value(id).name;
    const auto [scale, zero] = scale_constants(id);
    const ValueId bytes = value(name + "_quantized", DataType::UInt8, type);
    if (!read.is_valid()) read = value(name + "_dequantized", DataType::Float32, type);
    add_node("QuantizeLinear", name + "_QuantizeLinear", {computed, scale, zero}, bytes);
    add_node("DequantizeLinear", name + "_DequantizeLinear", {bytes, scale, zero}, read);
    return read;
  }

  // Stored in 8 bits from the start.
  ValueId constant_in_8_bits(ValueId id) {
    const Tensor& tensor = *old_.initializer(id);
    const LinearScale how = scale_of(id);
    std::vector<std::uint8_t> codes;
    for (const float number : tensor.to_vector<float>()) codes.push_back(to_uint8(number, how));
    const auto [scale, zero] = scale_constants(id);
    const std::string name = old_.value(id).name;
    const ValueId bytes = constant(name + "_quantized",
                                   Tensor::of<std::uint8_t>(DataType::UInt8, tensor.dims(), codes));
    const ValueId read = value(name + "_dequantized", DataType::Float32, old_.value(id).type);
    add_node("DequantizeLinear", name + "_DequantizeLinear", {bytes, scale, zero}, read);
    return read;
  }

  // What readers of an old value read now.
  ValueId operand(ValueId id) {
    if (!id.is_valid()) return id;
    ValueId& read = read_as_[id.number];
    if (read.is_valid()) return read;
    const bool is_constant = plan_.is_quantized(id) && old_.initializer(id) != nullptr;
    read = is_constant ? constant_in_8_bits(id) : id;
    return read;
  }

  void add(NodeId id) {
    Node node = old_.node(id);
    const bool is_layer = plan_.is_quantized_node[id.number] && layer_weight(old_, node) != nullptr;
    const std::vector<ValueId> old_inputs = node.inputs;
    if (is_layer) {
      node.inputs[0] = operand(old_inputs[0]);
      set_weight_and_bias(id, node);
    } else {
      for (std::size_t i = 0; i < old_inputs.size(); ++i) node.inputs[i] = operand(old_inputs[i]);
    }
    const std::vector<ValueId> outputs = node.outputs;
    for (ValueId& output : node.outputs) {
      if (output.is_valid() && plan_.is_quantized(output) && is_output_[output.number])
        output = value(old_.value(output).name + "_computed", DataType::Float32,
                       old_.value(output).type);
    }
    const std::vector<ValueId> computed = node.outputs;
    result_.graph.add_node(std::move(node));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!plan_.is_quantized(outputs[i])) continue;
      const bool is_output = is_output_[outputs[i].number];
      read_as_[outputs[i].number] =
          add_pair(outputs[i], computed[i], is_output ? outputs[i] : ValueId{});
    }
  }

  // A layer's operands 1 and 2, in 8 and 32 bits.
  void set_weight_and_bias(NodeId id, Node& node) {
    const Node& old = old_.node(id);
    const float input_scale = scale_of(old.inputs[0]).scale;
    const std::vector<double> bias = corrected_bias(id);
    const WeightCodes coded = coded_layer_weight(id, bias, input_scale);
    const std::string name = old_.value(old.inputs[1]).name;
    const std::vector<Attribute> axis = {{"axis", static_cast<std::int64_t>(output_axis(old))}};
    node.inputs[1] = dequantized(name, coded.codes, coded.scales, axis);
    if (!bias.empty()) {
      node.inputs.resize(3);
      node.inputs[2] = coded_bias(node.name + ".bias", bias, input_scale, coded.scales);
    }
    result_.weight_scales.emplace(id, coded.scales);
  }

  ValueId dequantized(const std::string& name, const Tensor& codes,
                      const std::vector<float>& scales, const std::vector<Attribute>& axis) {
    const bool is_one = scales.size() == 1;
    const std::vector<std::int64_t> dims =
        is_one ? std::vector<std::int64_t>{}
               : std::vector{static_cast<std::int64_t>(scales.size())};
    const ValueId data = constant(name + "_quantized", codes);
    const ValueId scale = constant(name + "_scale", Tensor::of_float(dims, scales));
    const std::vector<std::byte> zeros(scales.size() * codes.byte_size() /
                                       static_cast<std::size_t>(codes.elements()));
    const ValueId zero =
        constant(name + "_zero_point", Tensor(codes.type(), dims, heap_storage(zeros)));
    const ValueId read = value(name + "_dequantized", DataType::Float32,
                               tensor_type(DataType::Float32, codes.shape()));
    add_node("DequantizeLinear", name + "_DequantizeLinear", {data, scale, zero}, read,
             is_one ? std::vector<Attribute>{} : axis);
    return read;
  }

  // Empty for a layer that has none, unless it is corrected. A product has no place for one.
  std::vector<double> corrected_bias(NodeId id) const {
    const Node& node = old_.node(id);
    if (node.is("MatMul")) return {};
    std::vector<double> bias;
    if (node.has_input(2)) bias = old_.initializer(node.inputs[2])->to_double();
    const auto found = options_.bias_corrections.find(id);
    if (found == options_.bias_corrections.end()) return bias;
    bias.resize(found->second.size());
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] += found->second[c];
    return bias;
  }

  // Scales are at least what lets the bias fit into its 32 bits.
  WeightCodes coded_layer_weight(NodeId id, const std::vector<double>& bias, float input_scale) {
    const Node& node = old_.node(id);
    const Tensor& weight = *layer_weight(old_, node);
    check_weight(node, weight);
    std::vector<float> least;
    for (const double number : bias)
      least.push_back(static_cast<float>(std::abs(number) / (input_scale * kLargestBias)));
    return coded_weight(weight, output_axis(node), options_.per_channel, least);
  }

  void check_weight(const Node& node, const Tensor& weight) {
    const FloatElements elements(weight);
    const std::span<const float> numbers = elements.all();
    const bool is_finite =
        std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
    if (!is_finite)
      fail_bad_input(
          "{} '{}': its weight '{}' has a number that is not finite, so it has no scale; train or "
          "export the model again",
          node.op, node.name, old_.value(node.inputs[1]).name);
    const std::size_t idle = zero_channels(numbers, weight.dims(), output_axis(node));
    if (idle > 0)
      result_.warnings.push_back(fmt::format(
          "{} '{}': {} of {} output channels have no weight but 0; pruning would remove "
          "them",
          node.op, node.name, idle, weight.dims()[output_axis(node)]));
  }

  static std::size_t zero_channels(std::span<const float> numbers,
                                   const std::vector<std::int64_t>& dims, std::size_t axis) {
    const auto channels = static_cast<std::size_t>(dims[axis]);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
    std::vector<bool> has_weight(channels, false);
    for (std::size_t i = 0; i < numbers.size(); i += inner) {
      const auto row = numbers.subspan(i, inner);
      if (std::ranges::any_of(row, [](float number) { return number != 0; }))
        has_weight[i / inner % channels] = true;
    }
    return static_cast<std::size_t>(std::ranges::count(has_weight, false));
  }

  ValueId coded_bias(const std::string& name, const std::vector<double>& bias, float input_scale,
                     const std::vector<float>& weight_scales) {
    std::vector<float> scales;
    for (const float scale : weight_scales) scales.push_back(input_scale * scale);
    std::vector<std::int32_t> codes;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const double unit = scales[scales.size() == 1 ? 0 : c];
      codes.push_back(static_cast<std::int32_t>(
          std::clamp(std::nearbyint(bias[c] / unit), -2 * kLargestBias, 2 * kLargestBias)));
    }
    const Tensor tensor =
        Tensor::of<std::int32_t>(DataType::Int32, {static_cast<std::int64_t>(codes.size())}, codes);
    return dequantized(name, tensor, scales, {{"axis", std::int64_t{0}}});
  }

  // Without those that nothing reads any more.
  void add_initializers() {
    const std::vector<bool> is_read = read_values(result_.graph);
    const std::vector<bool> was_read = read_values(old_);
    for (const auto& [id, tensor] : old_.initializers()) {
      if (is_read[id.number] || !was_read[id.number]) result_.graph.add_initializer(id, tensor);
    }
  }

  const Graph& old_;
  const QuantizationPlan& plan_;
  const std::vector<LinearScale>& scales_;
  const QdqOptions& options_;
  ValueNames names_;
  QdqGraph result_;
  std::vector<ValueId> read_as_;  // by old value
  std::vector<bool> is_output_;   // by old value
  std::map<ValueId, std::pair<ValueId, ValueId>> scale_constants_;
};

}  // namespace

QdqGraph write_qdq(const Graph& graph, const QuantizationPlan& plan,
                   const std::vector<LinearScale>& scales, const QdqOptions& options) {
  return QdqWriter(graph, plan, scales, options).run();
}

}  // namespace assay::transform
