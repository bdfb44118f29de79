// ONNX Runtime's fused operators, written in the operators they were fused from: engines know how
// to run those, and fuse what they like by themselves. A form that standard operators cannot state
// exactly stays as it is.
#include <algorithm>

#include "transform/expansion.h"
#include "transform/late_products.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

// The activation that FusedConv and FusedGemm name, with its parameters.
std::optional<Piece> activation(Expansion& to, const std::string& name,
                                const std::vector<float>& parameters) {
  const auto has = [&](std::size_t count) { return parameters.size() == count; };
  if ((name == "Relu" || name == "Sigmoid" || name == "Tanh") && has(0))
    return Piece{name, {ValueId{}}};
  if ((name == "LeakyRelu" || name == "Elu") && has(1))
    return Piece{name, {ValueId{}}, {{"alpha", parameters[0]}}};
  if (name == "HardSigmoid" && has(2))
    return Piece{name, {ValueId{}}, {{"alpha", parameters[0]}, {"beta", parameters[1]}}};
  if (name == "Clip" && has(2)) return to.clip({}, parameters[0], parameters[1]);
  return {};
}

std::vector<Attribute> without_activation(const Node& node) {
  std::vector<Attribute> attributes = node.attributes;
  std::erase_if(attributes,
                [](const Attribute& one) { return one.name.starts_with("activation"); });
  return attributes;
}

bool add_activated(Expansion& to, std::vector<Piece> pieces, const std::vector<float>& parameters) {
  const Node& node = to.node();
  const std::string name = node.string_or("activation", "");
  if (!name.empty()) {
    auto last = activation(to, name, parameters);
    if (!last) return false;
    pieces.push_back(std::move(*last));
  }
  to.add_chain(std::move(pieces), node.outputs[0]);
  return true;
}

bool expand_convolution(Expansion& to) {
  const Node& node = to.node();
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() > 3) inputs.resize(3);
  if (!inputs.back().is_valid()) inputs.pop_back();
  std::vector<Piece> pieces = {{"Conv", inputs, without_activation(node)}};
  if (node.has_input(3)) {
    if (to.dims(node.inputs[3]) != to.dims(node.outputs[0])) return false;
    pieces.push_back({"Add", {ValueId{}, node.inputs[3]}});
  }
  const auto* parameters = node.get<std::vector<float>>("activation_params");
  return add_activated(to, std::move(pieces), parameters ? *parameters : std::vector<float>{});
}

bool expand_gemm(Expansion& to) {
  const Node& node = to.node();
  std::vector<float> parameters;
  for (const char* attribute : {"activation_alpha", "activation_beta"}) {
    if (const float* number = node.get<float>(attribute)) parameters.push_back(*number);
  }
  return add_activated(to, {{"Gemm", node.inputs, without_activation(node)}}, parameters);
}

// Gelu, BiasGelu and FastGelu: input 1, where it is given, is added first.
bool expand_gelu(Expansion& to) {
  const Node& node = to.node();
  std::vector<Piece> pieces;
  if (node.has_input(1)) {
    pieces.push_back({"Add", {node.inputs[0], node.inputs[1]}});
    if (to.dims(node.inputs[0]) != to.dims(node.outputs[0])) return false;
  }
  const std::string approximate = node.op == "FastGelu" ? "tanh" : "none";
  pieces.push_back({"Gelu", {node.inputs[0]}, {{"approximate", approximate}}});
  to.add_chain(std::move(pieces), node.outputs[0]);
  return true;
}

// x · sigmoid(alpha · x)
bool expand_quick_gelu(Expansion& to) {
  const Node& node = to.node();
  const ValueId x = node.inputs[0];
  const Dims dims = to.dims(x);
  const float alpha = node.float_or("alpha", 1.702f);
  const ValueId scaled = alpha == 1 ? x : to.add({"Mul", {x, to.number(alpha)}}, dims);
  const ValueId gate = to.add({"Sigmoid", {scaled}}, dims);
  to.add_as({"Mul", {x, gate}}, node.outputs);
  return true;
}

bool is_last_axis(const Expansion& to, ValueId value, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(to.dims(value).size());
  return axis == -1 || axis == rank - 1;
}

// x / √(mean(x²) + ε) · scale along the last axis.
void add_simplified_norm(Expansion& to, ValueId x, ValueId scale, float epsilon, ValueId result) {
  Dims reduced = to.dims(x);
  const auto last = static_cast<std::int64_t>(reduced.size()) - 1;
  reduced.back() = 1;
  const ValueId squares = to.add({"Mul", {x, x}}, to.dims(x));
  const ValueId variance = to.add(to.reduce("ReduceMean", squares, last, true), reduced);
  const ValueId shifted = to.add({"Add", {variance, to.number(epsilon)}}, reduced);
  const ValueId deviation = to.add({"Sqrt", {shifted}}, reduced);
  to.add_chain({{"Div", {x, deviation}}, {"Mul", {ValueId{}, scale}}}, result);
}

bool expand_simplified_norm(Expansion& to) {
  const Node& node = to.node();
  if (node.has_output(1) || !is_last_axis(to, node.inputs[0], node.int_or("axis", -1)))
    return false;
  add_simplified_norm(to, node.inputs[0], node.inputs[1], node.float_or("epsilon", 1e-5f),
                      node.outputs[0]);
  return true;
}

bool expand_layer_norm(Expansion& to) {
  const Node& node = to.node();
  to.add_as({"LayerNormalization", node.inputs, node.attributes}, node.outputs);
  return true;
}

// Whether a layer that can take in a bias made the value.
bool is_made_by_product(const Expansion& to, ValueId value) {
  const NodeId maker = to.graph().producer(value);
  return maker.is_valid() && to.graph().node(maker).op.find("MatMul") != std::string::npos;
}

// input + skip + bias, as the node's output 3 where it has one.
ValueId skip_sum(Expansion& to, ValueId bias) {
  const Node& node = to.node();
  const Dims dims = to.dims(node.outputs[0]);
  ValueId a = node.inputs[0];
  ValueId b = node.inputs[1];
  if (bias.is_valid()) {
    const bool suits_skip = to.dims(b) == dims && is_made_by_product(to, b);
    ValueId& biased = suits_skip && !is_made_by_product(to, a) ? b : a;
    biased = to.add({"Add", {biased, bias}}, dims);
  }
  if (!node.has_output(3)) return to.add({"Add", {a, b}}, dims);
  to.add_as({"Add", {a, b}}, {node.outputs[3]});
  return node.outputs[3];
}

bool expand_skip_norm(Expansion& to) {
  const Node& node = to.node();
  const bool is_simplified = node.op == "SkipSimplifiedLayerNormalization";
  const std::size_t bias = is_simplified ? 3 : 4;
  const float epsilon = node.float_or("epsilon", 1e-12f);
  if (to.dims(node.inputs[0]) != to.dims(node.outputs[0])) return false;
  if (is_simplified && (node.has_output(1) || node.has_output(2))) return false;
  const ValueId sum = skip_sum(to, node.has_input(bias) ? node.inputs[bias] : ValueId{});
  if (is_simplified) {
    add_simplified_norm(to, sum, node.inputs[2], epsilon, node.outputs[0]);
    return true;
  }
  std::vector<ValueId> inputs = {sum, node.inputs[2]};
  if (node.has_input(3)) inputs.push_back(node.inputs[3]);
  std::vector<ValueId> outputs = node.outputs;
  if (outputs.size() > 3) outputs.resize(3);
  while (!outputs.back().is_valid()) outputs.pop_back();
  to.add_as({"LayerNormalization", inputs, {{"epsilon", epsilon}}}, outputs);
  return true;
}

ValueId embedded(Expansion& to, ValueId table, ValueId ids) {
  Dims dims = to.dims(ids);
  dims.push_back(to.dims(table)[1]);
  return to.add({"Gather", {table, ids}}, dims);
}

// Position i of every sample, where the node does not say.
ValueId position_ids(Expansion& to) {
  const Node& node = to.node();
  if (node.has_input(8)) return node.inputs[8];
  std::vector<std::int64_t> positions(static_cast<std::size_t>(to.dims(node.inputs[0])[1]));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);
  return to.integers(positions);
}

// How many positions of every sample the mask lets through; zeros without a mask.
void add_mask_lengths(Expansion& to, ValueId mask, ValueId result) {
  const Dims dims = to.dims(result);
  ValueId lengths;
  if (mask.is_valid()) {
    const ValueId sizes = to.add({"Abs", {to.as_floats(mask)}}, to.dims(mask));
    const ValueId open = to.add(to.clip(sizes, 0, 1), to.dims(mask));
    lengths = to.add(to.reduce("ReduceSum", open, 1, false), dims);
  } else {
    lengths = to.floats(dims, std::vector<float>(static_cast<std::size_t>(dims[0])));
  }
  const auto type = static_cast<std::int64_t>(to.element(result));
  to.add_as({"Cast", {lengths}, {{"to", type}}}, {result});
}

// Inputs: word and segment ids; word, position and segment tables; gamma, beta; mask; positions.
bool expand_embedding(Expansion& to) {
  const Node& node = to.node();
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const Dims dims = to.dims(node.outputs[0]);
  const Dims ids = to.dims(node.inputs[0]);
  const bool fits = (!input(8).is_valid() || to.dims(input(8)) == ids) &&
                    (!input(1).is_valid() || to.dims(input(1)) == ids) &&
                    input(1).is_valid() == input(4).is_valid() &&
                    (!input(7).is_valid() || to.dims(input(7)) == ids) &&
                    to.dims(input(3))[0] >= ids[1];
  if (!fits) return false;
  ValueId sum = to.add(
      {"Add", {embedded(to, input(2), input(0)), embedded(to, input(3), position_ids(to))}}, dims);
  if (input(1).is_valid()) sum = to.add({"Add", {sum, embedded(to, input(4), input(1))}}, dims);
  if (node.has_output(1)) add_mask_lengths(to, input(7), node.outputs[1]);
  if (node.has_output(2)) to.add_as({"Identity", {sum}}, {node.outputs[2]});
  to.add_as({"LayerNormalization",
             {sum, input(5), input(6)},
             {{"epsilon", node.float_or("epsilon", 1e-12f)}}},
            {node.outputs[0]});
  return true;
}

// Quantises A once for all products that read it.
bool expand_dynamic_product(Expansion& to) {
  const Node& node = to.node();
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const ValueId a = node.inputs[0];
  if (to.constant(node.inputs[1]) == nullptr) return false;
  const std::string key = "quantized " + std::to_string(a.number) + " ";
  if (!to.shared(key + "data").is_valid()) {
    const auto results = to.add_many({"DynamicQuantizeLinear", {a}}, {to.dims(a), {}, {}},
                                     {DataType::UInt8, DataType::Float32, DataType::UInt8});
    to.shared(key + "data") = results[0];
    to.shared(key + "scale") = results[1];
    to.shared(key + "zero point") = results[2];
  }
  to.add_as({"MatMulIntegerToFloat",
             {to.shared(key + "data"), node.inputs[1], to.shared(key + "scale"), node.inputs[2],
              to.shared(key + "zero point"), input(3), input(4)},
             {},
             kMicrosoftDomain},
            node.outputs);
  return true;
}

// Along another axis than the last: between two Transposes, which engines have as views.
bool expand_softmax(Expansion& to) {
  constexpr std::int64_t kAlongAxis = 13;  // the opset since which only one axis counts
  const Node& node = to.node();
  if (node.int_or("opset", to.opset()) < kAlongAxis) return false;
  const Dims dims = to.dims(node.inputs[0]);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t given = node.int_or("axis", -1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return false;
  const bool is_last =
      std::ranges::all_of(dims.begin() + axis + 1, dims.end(), [](auto dim) { return dim == 1; });
  if (is_last) return false;
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  Dims moved = dims;
  std::swap(moved[static_cast<std::size_t>(axis)], moved.back());
  const ValueId x = node.inputs[0];
  Piece along_last{node.op, node.inputs, node.attributes, node.domain};
  along_last.inputs[0] = to.add({"Transpose", {x}, {{"perm", order}}}, moved, to.element(x));
  std::erase_if(along_last.attributes, [](const Attribute& one) { return one.name == "axis"; });
  along_last.attributes.push_back({"axis", rank - 1});
  const ValueId result = to.add(std::move(along_last), moved, to.element(node.outputs[0]));
  to.add_as({"Transpose", {result}, {{"perm", order}}}, node.outputs);
  return true;
}

// Of 8-bit numbers, whose plain kernel interpolates in real numbers and truncates.
bool expand_resize(Expansion& to) {
  const Node& node = to.node();
  if (node.outputs.size() != 1 || !node.has_output(0)) return false;
  const ValueId result = node.outputs[0];
  const DataType type = to.element(node.inputs[0]);
  const bool is_8_bit = type == DataType::Int8 || type == DataType::UInt8;
  const bool is_known = !to.dims(node.inputs[0]).empty() && !to.dims(result).empty();
  if (!is_8_bit || !is_known) return false;
  Piece resize{node.op, node.inputs, node.attributes};
  resize.inputs[0] = to.as_floats(node.inputs[0]);
  const ValueId floats = to.add(std::move(resize), to.dims(result));
  to.add_as({"Cast", {floats}, {{"to", static_cast<std::int64_t>(type)}}}, {result});
  return true;
}

using ExpandFunction = bool (*)(Expansion&);

ExpandFunction find_expansion(const Node& node) {
  static const std::map<std::string, ExpandFunction> kTable = {
      {"FusedConv", expand_convolution},
      {"FusedGemm", expand_gemm},
      {"Gelu", expand_gelu},
      {"BiasGelu", expand_gelu},
      {"FastGelu", expand_gelu},
      {"QuickGelu", expand_quick_gelu},
      {"LayerNormalization", expand_layer_norm},
      {"SimplifiedLayerNormalization", expand_simplified_norm},
      {"SkipLayerNormalization", expand_skip_norm},
      {"SkipSimplifiedLayerNormalization", expand_skip_norm},
      {"EmbedLayerNormalization", expand_embedding},
      {"DynamicQuantizeMatMul", expand_dynamic_product},
      {"Attention", expand_attention},
      {"MultiHeadAttention", expand_multi_head_attention},
      {"QAttention", expand_quantized_attention},
      {"QLinearSoftmax", expand_softmax},
  };
  if (node.is("Softmax") || node.is("LogSoftmax")) return expand_softmax;
  if (node.is("Resize") || node.is("Upsample")) return expand_resize;
  if (node.is("LSTM") || node.is("GRU") || node.is("RNN")) return expand_batch_first;
  if (node.is("Loop")) return expand_loop;
  if (node.is("Conv")) return expand_column_convolution;
  // ONNX Runtime has this one among the standard operators.
  const bool is_theirs = node.domain == kMicrosoftDomain || node.is("SimplifiedLayerNormalization");
  if (!is_theirs) return nullptr;
  const auto found = kTable.find(node.op);
  return found == kTable.end() ? nullptr : found->second;
}

// All shapes are known, and what is not an integer is float32.
bool is_plain(const Expansion& to, const Node& node) {
  const auto fits = [&](ValueId id) {
    if (!id.is_valid() || to.is_float(id)) return true;
    const ValueType& type = to.graph().value(id).type;
    return is_integer(type.element) && type.has_known_shape();
  };
  return node.has_output(0) && std::ranges::all_of(node.inputs, fits) &&
         std::ranges::all_of(node.outputs, fits);
}

}  // namespace

Rewritten expand_fused_operators(Inferred model, const SimplifyOptions& options) {
  const std::vector<NodeId> order = order_with_late_products(model.graph);
  Expansion expansion(std::move(model));
  for (const NodeId id : order) {
    expansion.begin(id);
    const ExpandFunction expand = find_expansion(expansion.node());
    if (expand != nullptr && expansion.node().domain == kMicrosoftDomain) expansion.widen();
    const bool checks_itself = expand == expand_resize || expand == expand_loop;
    const bool is_known = checks_itself || is_plain(expansion, expansion.node());
    const bool is_expanded =
        is_known && ((expand != nullptr && expand(expansion)) ||
                     (!options.has_8_bit_products && expand_quantized_layer(expansion)));
    if (is_expanded) {
      expansion.narrow();
    } else {
      expansion.keep();
    }
  }
  return std::move(expansion).finish();
}

}  // namespace assay::transform
