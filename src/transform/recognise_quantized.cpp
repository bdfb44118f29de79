// Quantised layers written as float ops between DequantizeLinear and QuantizeLinear become the one
// quantised op they stand for (QLinearConv, QGemm, QLinearAdd, …), so that an engine can keep whole
// chains in 8 bits. Ops that only move or compare elements run on the 8-bit numbers themselves
// where scale and zero point stay the same. A Relu or Clip in between becomes a Clip of 8-bit
// numbers, or nothing if the range of the result does the same.
//
// Also here: MatMulInteger, Cast and Mul of a dynamically quantised layer as MatMulIntegerToFloat.
#include <algorithm>
#include <cmath>
#include <map>

#include "transform/patterns.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

constexpr const char* kMicrosoft = "com.microsoft";

bool is_8_bit(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8;
}

// 8-bit numbers (or a bias of 32 bits) with what makes them real ones.
struct QuantizedValue {
  ValueId data;
  ValueId scale;
  ValueId zero_point;  // may be missing: 0
  NodeId node;         // the DequantizeLinear or QuantizeLinear
  std::int64_t axis = 1;
};

std::size_t scale_count(const GraphEdit& edit, const QuantizedValue& value) {
  const Tensor* scale = edit.constant(value.scale);
  return scale == nullptr ? 0 : static_cast<std::size_t>(scale->elements());
}

bool is_real_scale(const GraphEdit& edit, ValueId id) {
  const Tensor* scale = edit.constant(id);
  return scale != nullptr && scale->type() == DataType::Float32;
}

// The node with constant scale and zero point, without blocks.
std::optional<QuantizedValue> quantization_of(const GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  if (!node.has_input(1) || !is_real_scale(edit, node.inputs[1])) return {};
  if (node.int_or("block_size", 0) != 0) return {};
  QuantizedValue value{
      .data = node.inputs[0], .scale = node.inputs[1], .zero_point = {}, .node = id};
  value.axis = node.int_or("axis", 1);
  if (node.has_input(2)) {
    if (edit.constant(node.inputs[2]) == nullptr) return {};
    value.zero_point = node.inputs[2];
  }
  return value;
}

std::optional<QuantizedValue> dequantized(const GraphEdit& edit, ValueId value) {
  const Node* maker = edit.maker(value);
  if (maker == nullptr || maker->op != "DequantizeLinear") return {};
  return quantization_of(edit, edit.maker_id(value));
}

// An activation: 8 bits, one scale for all.
std::optional<QuantizedValue> activation(const GraphEdit& edit, ValueId value) {
  const auto found = dequantized(edit, value);
  if (!found || scale_count(edit, *found) != 1 || !is_8_bit(edit.type(found->data).element))
    return {};
  return found;
}

// All numbers along the last axis: a bias of columns, not of rows.
bool is_row(const Tensor& tensor) {
  return tensor.dims().empty() || tensor.dims().back() == tensor.elements();
}

// A weight: known, 8 bits, one scale or one for each position along `axis`.
std::optional<QuantizedValue> weight(const GraphEdit& edit, ValueId value, std::int64_t axis) {
  const auto found = dequantized(edit, value);
  if (!found) return {};
  const Tensor* data = edit.constant(found->data);
  if (data == nullptr || !is_8_bit(data->type())) return {};
  if (scale_count(edit, *found) == 1) return found;
  const auto rank = static_cast<std::int64_t>(data->dims().size());
  const std::int64_t position = found->axis < 0 ? found->axis + rank : found->axis;
  return position == axis ? found : std::nullopt;
}

class QuantizedLayers {
 public:
  explicit QuantizedLayers(GraphEdit& edit) : edit_(edit) {}

  void run() {
    for (std::uint32_t i = 0; i < edit_.node_count(); ++i) {
      const NodeId id{i};
      if (!edit_.is_alive(id) || !edit_.node(id).is_standard()) continue;
      const auto found = kRewrites.find(edit_.node(id).op);
      if (found != kRewrites.end()) (this->*found->second)(id);
    }
  }

 private:
  // What becomes of a float op's result: perhaps clamped, then quantised.
  struct Epilogue {
    QuantizedValue result;
    NodeId clamp = {};  // a Relu or Clip between the op and its QuantizeLinear
    double low = 0, high = 0;
  };

  using Rewrite = void (QuantizedLayers::*)(NodeId);
  static const std::map<std::string, Rewrite> kRewrites;

  DataType type_of(ValueId id) const { return edit_.type(id).element; }
  ValueId result_of(const Epilogue& epilogue) const {
    return edit_.node(epilogue.result.node).outputs[0];
  }

  std::optional<QuantizedValue> quantizer_after(ValueId value) const {
    const NodeId reader = edit_.only_reader(value);
    if (!reader.is_valid() || edit_.node(reader).op != "QuantizeLinear") return {};
    const auto found = quantization_of(edit_, reader);
    if (!found || found->data != value || scale_count(edit_, *found) != 1) return {};
    return is_8_bit(type_of(edit_.node(reader).outputs[0])) ? found : std::nullopt;
  }

  double number_or(const Node& node, std::size_t input, const char* attribute,
                   double otherwise) const {
    if (node.has_input(input)) return edit_.number(node.inputs[input]).value_or(std::nan(""));
    return static_cast<double>(node.float_or(attribute, static_cast<float>(otherwise)));
  }

  std::optional<Epilogue> epilogue_of(NodeId id) const {
    const ValueId value = edit_.node(id).outputs[0];
    if (const auto direct = quantizer_after(value)) return Epilogue{.result = *direct};
    const NodeId next = edit_.only_reader(value);
    if (!next.is_valid()) return {};
    const Node& node = edit_.node(next);
    if ((!node.is("Relu") && !node.is("Clip")) || node.inputs[0] != value) return {};
    const auto result = quantizer_after(node.outputs[0]);
    if (!result) return {};
    constexpr double kLeast = -3.4e38;
    Epilogue epilogue{.result = *result, .clamp = next, .low = 0, .high = -kLeast};
    if (node.is("Clip")) {
      epilogue.low = number_or(node, 1, "min", kLeast);
      epilogue.high = number_or(node, 2, "max", -kLeast);
    }
    const bool is_known = !std::isnan(epilogue.low) && !std::isnan(epilogue.high);
    return is_known ? std::optional(epilogue) : std::nullopt;
  }

  // The zero point, or a zero of the right type.
  ValueId zero_point_of(const QuantizedValue& value, DataType type) {
    if (value.zero_point.is_valid()) return value.zero_point;
    const auto count = static_cast<std::int64_t>(scale_count(edit_, value));
    const std::vector<std::int64_t> dims = edit_.constant(value.scale)->dims().empty()
                                               ? std::vector<std::int64_t>{}
                                               : std::vector{count};
    std::vector<std::byte> zeros(static_cast<std::size_t>(count) *
                                 static_cast<std::size_t>(bits(type)) / 8);
    return edit_.add_constant("zero_point", Tensor(type, dims, heap_storage(std::move(zeros))));
  }

  double quantized(const Epilogue& epilogue, double number) const {
    const double scale = *edit_.number(epilogue.result.scale);
    const double zero = zero_number(epilogue);
    const bool is_signed = type_of(result_of(epilogue)) == DataType::Int8;
    return std::clamp(std::nearbyint(number / scale) + zero, is_signed ? -128.0 : 0.0,
                      is_signed ? 127.0 : 255.0);
  }
  double zero_number(const Epilogue& epilogue) const {
    return epilogue.result.zero_point.is_valid() ? *edit_.number(epilogue.result.zero_point) : 0;
  }

  // Whether the type's own range clamps as the Relu or Clip does.
  bool needs_clamp(const Epilogue& epilogue) const {
    if (!epilogue.clamp.is_valid()) return false;
    return quantized(epilogue, epilogue.low) != quantized(epilogue, -1e30) ||
           quantized(epilogue, epilogue.high) != quantized(epilogue, 1e30);
  }

  ValueId quantized_constant(const Epilogue& epilogue, double number) {
    const auto value = static_cast<int>(quantized(epilogue, number));
    std::vector<std::byte> bytes = {static_cast<std::byte>(value)};
    return edit_.add_constant(
        "bound", Tensor(type_of(result_of(epilogue)), {}, heap_storage(std::move(bytes))));
  }

  // Puts `node` in the place of `id` and its epilogue; its outputs are set here.
  void finish(NodeId id, const Epilogue& epilogue, Node node, std::vector<NodeId> pattern) {
    pattern.push_back(id);
    const NodeId last = epilogue.result.node;
    node.name = edit_.node(id).name;
    const ValueId result = result_of(epilogue);
    if (!needs_clamp(epilogue)) {
      if (epilogue.clamp.is_valid()) pattern.push_back(epilogue.clamp);
      node.outputs = {result};
      return take_over(edit_, last, std::move(node), pattern);
    }
    const ValueId between = edit_.node(epilogue.clamp).outputs[0];
    Node clip{.name = edit_.node(epilogue.clamp).name,
              .op = "Clip",
              .domain = "",
              .inputs = {between, quantized_constant(epilogue, epilogue.low),
                         quantized_constant(epilogue, epilogue.high)},
              .outputs = {result}};
    node.outputs = {between};
    edit_.set_element_type(between, type_of(result));
    edit_.set_node(last, std::move(clip));
    take_over(edit_, epilogue.clamp, std::move(node), pattern);
  }

  bool may_clamp(const Epilogue& epilogue) const {
    constexpr int kClipOfIntegers = 12;
    return !needs_clamp(epilogue) || edit_.graph().opset() >= kClipOfIntegers;
  }

  void append(Node& node, const QuantizedValue& value) {
    const DataType type = edit_.type(value.data).element;
    for (const ValueId id : {value.data, value.scale, zero_point_of(value, type)})
      node.inputs.push_back(id);
  }
  void append_result(Node& node, const Epilogue& epilogue) {
    node.inputs.push_back(epilogue.result.scale);
    node.inputs.push_back(zero_point_of(epilogue.result, type_of(result_of(epilogue))));
  }

  // A bias in units of the products, or an invalid id; nothing if it cannot be had.
  std::optional<ValueId> bias_in_sums(const Node& node, std::size_t input, const QuantizedValue& x,
                                      const QuantizedValue& w, std::vector<NodeId>& pattern) {
    if (!node.has_input(input)) return ValueId{};
    const auto x_scale = edit_.number(x.scale);
    const auto w_scales = edit_.constant(w.scale)->to_double();
    const ValueId bias = node.inputs[input];
    if (const auto given = dequantized(edit_, bias)) {
      const Tensor* data = edit_.constant(given->data);
      if (data == nullptr || data->type() != DataType::Int32 ||
          !fits_sums(*given, *x_scale, w_scales))
        return {};
      if (w_scales.size() != 1 && !is_row(*data)) return {};
      pattern.push_back(given->node);
      return given->data;
    }
    const Tensor* numbers = edit_.constant(bias);
    if (numbers == nullptr || numbers->type() != DataType::Float32) return {};
    return rounded_bias(*numbers, *x_scale, w_scales);
  }

  // Whether the bias has the scale of the sums, and the zero point 0.
  bool fits_sums(const QuantizedValue& bias, double x_scale,
                 const std::vector<double>& w_scales) const {
    const auto scales = edit_.constant(bias.scale)->to_double();
    if (bias.zero_point.is_valid()) {
      const auto zeros = edit_.constant(bias.zero_point)->to_double();
      if (std::ranges::any_of(zeros, [](double zero) { return zero != 0; })) return false;
    }
    if (scales.size() != 1 && w_scales.size() != 1 && scales.size() != w_scales.size())
      return false;
    for (std::size_t i = 0; i < std::max(scales.size(), w_scales.size()); ++i) {
      const double wanted = x_scale * w_scales[w_scales.size() == 1 ? 0 : i];
      const double given = scales[scales.size() == 1 ? 0 : i];
      if (std::abs(given - wanted) > 1e-5 * std::abs(wanted)) return false;
    }
    return true;
  }

  std::optional<ValueId> rounded_bias(const Tensor& bias, double x_scale,
                                      const std::vector<double>& w_scales) {
    const auto numbers = bias.to_double();
    if (w_scales.size() != 1 && (w_scales.size() != numbers.size() || !is_row(bias))) return {};
    std::vector<std::int32_t> sums;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double sum =
          std::nearbyint(numbers[i] / (x_scale * w_scales[w_scales.size() == 1 ? 0 : i]));
      if (!(std::abs(sum) < 1 << 30)) return {};
      sums.push_back(static_cast<std::int32_t>(sum));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(sums.data());
    std::vector<std::byte> stored(bytes, bytes + sums.size() * sizeof(std::int32_t));
    return edit_.add_constant(
        "bias", Tensor(DataType::Int32, bias.dims(), heap_storage(std::move(stored))));
  }

  void convolution(NodeId id) {
    const Node& conv = edit_.node(id);
    if (!conv.has_input(1)) return;
    const auto x = activation(edit_, conv.inputs[0]);
    const auto w = weight(edit_, conv.inputs[1], 0);
    const auto epilogue = epilogue_of(id);
    if (!x || !w || !epilogue || !may_clamp(*epilogue)) return;
    std::vector<NodeId> pattern = {x->node, w->node};
    const auto bias = bias_in_sums(conv, 2, *x, *w, pattern);
    if (!bias) return;
    Node node{.name = "", .op = "QLinearConv", .domain = "", .attributes = conv.attributes};
    append(node, *x);
    append(node, *w);
    append_result(node, *epilogue);
    if (bias->is_valid()) node.inputs.push_back(*bias);
    finish(id, *epilogue, std::move(node), std::move(pattern));
  }

  void product(NodeId id) {
    const Node& matmul = edit_.node(id);
    const auto a = activation(edit_, matmul.inputs[0]);
    auto b = weight(edit_, matmul.inputs[1], 1);
    if (b && edit_.constant(b->data)->dims().size() != 2) b.reset();
    if (!b) b = activation(edit_, matmul.inputs[1]);
    const auto epilogue = epilogue_of(id);
    if (!a || !b || !epilogue || !may_clamp(*epilogue)) return;
    Node node{.name = "", .op = "QLinearMatMul", .domain = ""};
    append(node, *a);
    append(node, *b);
    append_result(node, *epilogue);
    finish(id, *epilogue, std::move(node), {a->node, b->node});
  }

  void general_product(NodeId id) {
    const Node& gemm = edit_.node(id);
    const bool is_transposed = gemm.int_or("transB", 0) != 0;
    const auto a = activation(edit_, gemm.inputs[0]);
    const auto b = weight(edit_, gemm.inputs[1], is_transposed ? 0 : 1);
    const auto epilogue = epilogue_of(id);
    if (!a || !b || !epilogue || !may_clamp(*epilogue)) return;
    if (gemm.float_or("alpha", 1) != 1.0f || gemm.float_or("beta", 1) != 1.0f) return;
    std::vector<NodeId> pattern = {a->node, b->node};
    const auto bias = bias_in_sums(gemm, 2, *a, *b, pattern);
    if (!bias) return;
    Node node{.name = "", .op = "QGemm", .domain = kMicrosoft};
    node.attributes = {{"transA", gemm.int_or("transA", 0)}, {"transB", gemm.int_or("transB", 0)}};
    append(node, *a);
    append(node, *b);
    node.inputs.push_back(*bias);
    append_result(node, *epilogue);
    finish(id, *epilogue, std::move(node), std::move(pattern));
  }

  void binary(NodeId id) {
    const Node& op = edit_.node(id);
    const auto a = activation(edit_, op.inputs[0]);
    const auto b = activation(edit_, op.inputs[1]);
    const auto epilogue = epilogue_of(id);
    if (!a || !b || !epilogue || !may_clamp(*epilogue)) return;
    Node node{.name = "", .op = "QLinear" + op.op, .domain = kMicrosoft};
    append(node, *a);
    append(node, *b);
    append_result(node, *epilogue);
    finish(id, *epilogue, std::move(node), {a->node, b->node});
  }

  void concat(NodeId id) {
    const Node& op = edit_.node(id);
    const auto epilogue = epilogue_of(id);
    if (!epilogue || !may_clamp(*epilogue)) return;
    Node node{.name = "", .op = "QLinearConcat", .domain = kMicrosoft, .attributes = op.attributes};
    append_result(node, *epilogue);
    std::vector<NodeId> pattern;
    for (const ValueId input : op.inputs) {
      const auto part = activation(edit_, input);
      if (!part) return;
      append(node, *part);
      pattern.push_back(part->node);
    }
    finish(id, *epilogue, std::move(node), std::move(pattern));
  }

  void average_pool(NodeId id) {
    const Node& op = edit_.node(id);
    const auto x = activation(edit_, op.inputs[0]);
    const auto epilogue = epilogue_of(id);
    if (!x || !epilogue || !may_clamp(*epilogue)) return;
    Node node{
        .name = "", .op = "QLinear" + op.op, .domain = kMicrosoft, .attributes = op.attributes};
    append(node, *x);
    append_result(node, *epilogue);
    finish(id, *epilogue, std::move(node), {x->node});
  }

  void softmax(NodeId id) {
    constexpr std::int64_t kAlongAxis = 13;  // the opset since which only one axis counts
    const Node& op = edit_.node(id);
    const auto x = activation(edit_, op.inputs[0]);
    const auto epilogue = epilogue_of(id);
    if (!x || !epilogue || epilogue->clamp.is_valid()) return;
    const std::int64_t opset = edit_.graph().opset();
    Node node{.name = "", .op = "QLinearSoftmax", .domain = kMicrosoft};
    node.attributes = {{"axis", op.int_or("axis", opset < kAlongAxis ? 1 : -1)}, {"opset", opset}};
    append(node, *x);
    append_result(node, *epilogue);
    finish(id, *epilogue, std::move(node), {x->node});
  }

  bool are_equal_constants(ValueId a, ValueId b) const {
    const double first = a.is_valid() ? edit_.number(a).value_or(std::nan("")) : 0;
    const double second = b.is_valid() ? edit_.number(b).value_or(std::nan("")) : 0;
    return first == second;
  }

  // Moves or compares elements: the same on 8-bit numbers, if they mean the same afterwards.
  void movement(NodeId id) {
    const Node& op = edit_.node(id);
    if (!op.has_input(0) || op.outputs.size() != 1) return;
    const auto x = activation(edit_, op.inputs[0]);
    const auto result = quantizer_after(op.outputs[0]);
    if (!x || !result || type_of(x->data) != type_of(edit_.node(result->node).outputs[0])) return;
    if (!are_equal_constants(x->scale, result->scale) ||
        !are_equal_constants(x->zero_point, result->zero_point)) {
      return;
    }
    Node node = op;
    node.inputs[0] = x->data;
    node.outputs = edit_.node(result->node).outputs;
    take_over(edit_, result->node, std::move(node), {x->node, id});
  }

  // As above; every part is quantised alike.
  void split(NodeId id) {
    Node node = edit_.node(id);
    const auto x = activation(edit_, node.inputs[0]);
    if (!x) return;
    std::vector<NodeId> quantizers;
    for (ValueId& output : node.outputs) {
      const auto result = output.is_valid() ? quantizer_after(output) : std::nullopt;
      if (!result || !are_equal_constants(x->scale, result->scale) ||
          !are_equal_constants(x->zero_point, result->zero_point))
        return;
      output = edit_.node(result->node).outputs[0];
      if (type_of(output) != type_of(x->data)) return;
      quantizers.push_back(result->node);
    }
    node.inputs[0] = x->data;
    for (const NodeId quantizer : quantizers) edit_.absorb(quantizer, id);
    take_over(edit_, id, std::move(node), {x->node});
  }

  // MatMulInteger → Cast → Mul by the product of the scales, perhaps → Add of a bias.
  void integer_product(NodeId id) {
    const Node& matmul = edit_.node(id);
    const NodeId cast = edit_.only_reader(matmul.outputs[0]);
    if (!cast.is_valid() || !edit_.node(cast).is("Cast")) return;
    if (type_of(edit_.node(cast).outputs[0]) != DataType::Float32) return;
    const NodeId scaling = edit_.only_reader(edit_.node(cast).outputs[0]);
    if (!scaling.is_valid() || !edit_.node(scaling).is("Mul")) return;
    const Node& mul = edit_.node(scaling);
    const ValueId factor = mul.inputs[mul.inputs[0] == edit_.node(cast).outputs[0] ? 1 : 0];
    const Node* scales = made_by(edit_, factor, "Mul");
    if (scales == nullptr) return;
    const bool is_first_known = edit_.constant(scales->inputs[0]) != nullptr;
    const ValueId a_scale = scales->inputs[is_first_known ? 1 : 0];
    const ValueId b_scale = scales->inputs[is_first_known ? 0 : 1];
    if (edit_.constant(b_scale) == nullptr || edit_.constant(matmul.inputs[1]) == nullptr) return;
    const bool is_one_number =
        edit_.type(a_scale).has_known_shape() && edit_.type(a_scale).shape->elements() == 1;
    if (!is_one_number || !is_row(*edit_.constant(b_scale))) return;
    Node node{.name = matmul.name, .op = "MatMulIntegerToFloat", .domain = kMicrosoft};
    node.inputs = {matmul.inputs[0], matmul.inputs[1], a_scale, b_scale, {}, {}};
    for (const std::size_t i : {2u, 3u}) {
      if (matmul.has_input(i)) node.inputs[i + 2] = matmul.inputs[i];
    }
    node.outputs = mul.outputs;
    std::vector<NodeId> pattern = {id, cast, edit_.maker_id(factor)};
    const auto biased = bias_after(node);
    if (!biased) return take_over(edit_, scaling, std::move(node), pattern);
    node.inputs.resize(7);
    node.inputs[6] = biased->second;
    node.outputs = edit_.node(biased->first).outputs;
    pattern.push_back(scaling);
    take_over(edit_, biased->first, std::move(node), pattern);
  }

  // The Add of a constant row to a product's result, and the row.
  std::optional<std::pair<NodeId, ValueId>> bias_after(const Node& product) const {
    const NodeId id = edit_.only_reader(product.outputs[0]);
    if (!id.is_valid() || !edit_.node(id).is("Add")) return {};
    const Node& add = edit_.node(id);
    const ValueId bias = add.inputs[add.inputs[0] == product.outputs[0] ? 1 : 0];
    const Tensor* row = edit_.constant(bias);
    const Tensor* weights = edit_.constant(product.inputs[1]);
    const bool fits = row != nullptr && row->type() == DataType::Float32 &&
                      row->dims().size() == 1 && weights->dims().size() == 2 &&
                      row->elements() == weights->dims()[1];
    return fits ? std::optional(std::pair(id, bias)) : std::nullopt;
  }

  GraphEdit& edit_;
};

const std::map<std::string, QuantizedLayers::Rewrite> QuantizedLayers::kRewrites = {
    {"Conv", &QuantizedLayers::convolution},
    {"MatMul", &QuantizedLayers::product},
    {"Gemm", &QuantizedLayers::general_product},
    {"Add", &QuantizedLayers::binary},
    {"Mul", &QuantizedLayers::binary},
    {"Concat", &QuantizedLayers::concat},
    {"AveragePool", &QuantizedLayers::average_pool},
    {"GlobalAveragePool", &QuantizedLayers::average_pool},
    {"Softmax", &QuantizedLayers::softmax},
    {"MatMulInteger", &QuantizedLayers::integer_product},
    {"MaxPool", &QuantizedLayers::movement},
    {"Reshape", &QuantizedLayers::movement},
    {"Flatten", &QuantizedLayers::movement},
    {"Transpose", &QuantizedLayers::movement},
    {"Squeeze", &QuantizedLayers::movement},
    {"Unsqueeze", &QuantizedLayers::movement},
    {"Split", &QuantizedLayers::split},
    {"Slice", &QuantizedLayers::movement},
    {"Gather", &QuantizedLayers::movement},
    {"Expand", &QuantizedLayers::movement},
};

}  // namespace

void recognise_quantized_layers(GraphEdit& edit) {
  QuantizedLayers(edit).run();
}

}  // namespace assay::transform
