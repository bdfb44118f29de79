#include "transform/quantize/dynamic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/fail.h"
#include "transform/quantize/linear_scale.h"
#include "transform/quantize/plan.h"
#include "transform/quantize/values.h"
#include "transform/reads.h"

namespace assay::transform {

namespace {

constexpr std::int64_t kDynamicOpset = 11;  // has DynamicQuantizeLinear

// [n, k] as [k, n].
Tensor transposed_matrix(const Tensor& matrix) {
  const auto numbers = matrix.to_vector<float>();
  const auto rows = static_cast<std::size_t>(matrix.dims()[0]);
  const auto columns = static_cast<std::size_t>(matrix.dims()[1]);
  std::vector<float> transposed_numbers(numbers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      transposed_numbers[j * rows + i] = numbers[i * columns + j];
  }
  return Tensor::of_float({matrix.dims()[1], matrix.dims()[0]}, transposed_numbers);
}

class DynamicWriter {
 public:
  DynamicWriter(const Graph& graph, const DynamicOptions& options)
      : old_(graph), options_(options), names_(graph) {
    result_.graph = graph.declarations();
  }

  DynamicGraph run() && {
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) add(NodeId{i});
    const std::vector<bool> is_read = read_values(result_.graph);
    const std::vector<bool> was_read = read_values(old_);
    for (const auto& [id, tensor] : old_.initializers()) {
      if (is_read[id.number] || !was_read[id.number]) result_.graph.add_initializer(id, tensor);
    }
    return std::move(result_);
  }

 private:
  // An activation in 8 bits, with scale and zero point as values.
  struct Quantized {
    ValueId bytes, scale, zero_point;
  };

  void add(NodeId id) {
    const Node& node = old_.node(id);
    const bool is_product = (node.is("MatMul") || node.is("Gemm")) && node.has_input(1);
    if (!is_product) {
      result_.graph.add_node(node);
      return;
    }
    const std::string name = old_.display_name(id);
    DynamicLayer layer{
        .name = name, .op = node.op, .weight_scales = {}, .why_float = why_float(node, name)};
    if (layer.why_float.empty())
      layer.weight_scales = add_product(node, name);
    else
      result_.graph.add_node(node);
    result_.layers.push_back(std::move(layer));
  }

  std::string why_float(const Node& node, const std::string& name) const {
    if (options_.keep_float.contains(name)) return "kept by request";
    const Tensor* weight = layer_weight(old_, node);
    if (weight == nullptr) return "its second operand is no stored weight";
    if (weight->type() != DataType::Float32) return "it is not of float32";
    if (weight->elements() == 0) return "its weight is empty";
    if (weight->dims().size() != 2) return "its weight is not one matrix";
    if (!node.is("Gemm")) return "";
    if (node.int_or("transA", 0) != 0) return "its first operand is transposed";
    if (node.float_or("alpha", 1) != 1.0f || node.float_or("beta", 1) != 1.0f)
      return "it multiplies its result by a factor";
    return "";
  }

  ValueId constant(const std::string& name, Tensor tensor) {
    const ValueId id =
        result_.graph.add_value(names_.unique(name), tensor_type(tensor.type(), tensor.shape()));
    result_.graph.add_initializer(id, std::move(tensor));
    return id;
  }
  ValueId node(const char* op, const std::string& name, std::vector<ValueId> inputs, DataType type,
               std::vector<Attribute> attributes = {}) {
    const ValueId output = result_.graph.add_value(names_.unique(name), tensor_type(type));
    add_to(op, name, std::move(inputs), {output}, std::move(attributes));
    return output;
  }
  void add_to(const char* op, const std::string& name, std::vector<ValueId> inputs,
              std::vector<ValueId> outputs, std::vector<Attribute> attributes = {}) {
    result_.graph.add_node(Node{.name = name,
                                .op = op,
                                .domain = "",
                                .inputs = std::move(inputs),
                                .outputs = std::move(outputs),
                                .attributes = std::move(attributes)});
  }

  const Quantized& quantized(ValueId id) {
    const auto found = quantized_.find(id);
    if (found != quantized_.end()) return found->second;
    const std::string name = old_.value(id).name;
    Graph& graph = result_.graph;
    ValueType type = old_.value(id).type;
    type.element = DataType::UInt8;
    const Quantized made{
        graph.add_value(names_.unique(name + "_quantized"), type),
        graph.add_value(names_.unique(name + "_scale"), tensor_type(DataType::Float32, Shape())),
        graph.add_value(names_.unique(name + "_zero_point"),
                        tensor_type(DataType::UInt8, Shape()))};
    add_to("DynamicQuantizeLinear", name + "_DynamicQuantizeLinear", {id},
           {made.bytes, made.scale, made.zero_point});
    return quantized_.emplace(id, made).first->second;
  }

  std::vector<float> add_product(const Node& product, const std::string& name) {
    const std::string& weight_name = old_.value(product.inputs[1]).name;
    const Tensor& stored = *layer_weight(old_, product);
    const Tensor matrix = output_axis(product) == 0 ? transposed_matrix(stored) : stored;
    check_finite(name, weight_name, matrix);
    const WeightCodes coded = coded_weight(matrix, 1, options_.per_channel, {});
    const auto channels = static_cast<std::int64_t>(coded.scales.size());
    const bool is_one = channels == 1;
    const ValueId weight = constant(weight_name + "_quantized", coded.codes);
    const ValueId weight_scale =
        constant(weight_name + "_scale",
                 Tensor::of_float(is_one ? std::vector<std::int64_t>{} : std::vector{channels},
                                  coded.scales));
    const Quantized x = quantized(product.inputs[0]);
    const ValueId sums =
        node("MatMulInteger", name + "_sums", {x.bytes, weight, x.zero_point}, DataType::Int32);
    const ValueId cast =
        node("Cast", name + "_cast", {sums}, DataType::Float32, {{"to", std::int64_t{1}}});
    const ValueId scale = node("Mul", name + "_scales", {x.scale, weight_scale}, DataType::Float32);
    const bool has_bias = product.is("Gemm") && product.has_input(2);
    if (!has_bias) {
      add_to("Mul", name, {cast, scale}, product.outputs);
    } else {
      const ValueId scaled = node("Mul", name + "_scaled", {cast, scale}, DataType::Float32);
      add_to("Add", name, {scaled, product.inputs[2]}, product.outputs);
    }
    return coded.scales;
  }

  static void check_finite(const std::string& name, const std::string& weight,
                           const Tensor& matrix) {
    const auto numbers = matrix.to_vector<float>();
    if (std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return;
    fail_bad_input("'{}': its weight '{}' has a number that is not finite, so it has no scale",
                   name, weight);
  }

  const Graph& old_;
  const DynamicOptions& options_;
  ValueNames names_;
  std::map<ValueId, Quantized> quantized_;
  DynamicGraph result_;
};

}  // namespace

DynamicGraph write_dynamic(const Graph& model, const DynamicOptions& options) {
  if (model.opset() < kDynamicOpset)
    fail_bad_input(
        "operator set {} cannot quantise activations while it runs; export the model with operator "
        "set {} or later",
        model.opset(), kDynamicOpset);
  return DynamicWriter(model, options).run();
}

}  // namespace assay::transform
