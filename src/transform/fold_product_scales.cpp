// A product of two activations takes over the numbers that its operands or its result are
// multiplied by, as attention has them: (q · s) kᵀ and (q kᵀ) · s become a FusedMatMul with alpha
// s. The scale is applied to the sums before they are rounded, so in 16 bits a rounding less is
// done. Powers of two change nothing else; with other numbers, float32 results differ in the last
// place.
#include <cmath>

#include "transform/cast_precision.h"
#include "transform/patterns.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

// Beyond these, sums of operands that are not yet scaled might overflow or vanish.
constexpr double kLeastFolded = 0x1p-16;
constexpr double kGreatestFolded = 0x1p16;

bool is_product(const Node& node) {
  const bool is_fused = node.op == "FusedMatMul" && node.domain == "com.microsoft";
  return (node.is("MatMul") || is_fused) && node.has_input(0) && node.has_input(1);
}

bool is_computed_matrix(const GraphEdit& edit, ValueId id) {
  const ValueType& type = edit.type(id);
  const bool is_float = type.element == DataType::Float32 || is_half(type.element);
  return edit.maker(id) != nullptr && edit.constant(id) == nullptr && is_float &&
         type.has_known_shape() && type.shape->rank() >= 2;
}

bool is_product_of_activations(const GraphEdit& edit, const Node& node) {
  return is_product(node) && node.inputs[0] != node.inputs[1] &&
         is_computed_matrix(edit, node.inputs[0]) && is_computed_matrix(edit, node.inputs[1]);
}

// What a Mul or Div by a number multiplies, and by what; shape and type stay.
std::optional<WithNumber> scaled_value(const GraphEdit& edit, const Node& node) {
  if (!node.is("Mul") && !node.is("Div")) return {};
  auto scaled = with_number(edit, node);
  if (!scaled || edit.constant(scaled->value) != nullptr) return {};
  if (node.is("Div")) {
    if (scaled->value != node.inputs[0]) return {};
    scaled->number = 1 / scaled->number;
  }
  if (edit.type(scaled->value) != edit.type(node.outputs[0])) return {};
  const double size = std::abs(scaled->number);
  const bool is_moderate = size >= kLeastFolded && size <= kGreatestFolded;
  return is_moderate ? scaled : std::nullopt;
}

bool only_moves_numbers(const Node& node) {
  return node.is("Reshape") || node.is("Transpose") || node.is("Squeeze") || node.is("Unsqueeze") ||
         node.is("Flatten") || node.is("Identity");
}

// The Mul or Div whose result, moved about, is the operand, with no other reader on the way.
NodeId scaling_of(const GraphEdit& edit, ValueId operand) {
  while (edit.readers(operand) == 1) {
    const Node* maker = edit.maker(operand);
    if (maker == nullptr) return {};
    if (scaled_value(edit, *maker)) return edit.maker_id(operand);
    if (!only_moves_numbers(*maker)) return {};
    operand = maker->inputs[0];
  }
  return {};
}

Node with_scale(Node product, double scale) {
  const double alpha = static_cast<double>(product.float_or("alpha", 1.0f)) * scale;
  product.op = "FusedMatMul";
  product.domain = "com.microsoft";
  product.set("alpha", static_cast<float>(alpha));
  return product;
}

void fold_scale_of_operand(GraphEdit& edit, NodeId product, std::size_t input) {
  const NodeId scaling = scaling_of(edit, edit.node(product).inputs[input]);
  if (!scaling.is_valid()) return;
  const WithNumber scaled = *scaled_value(edit, edit.node(scaling));
  edit.replace_value(edit.node(scaling).outputs[0], scaled.value);
  edit.set_node(product, with_scale(edit.node(product), scaled.number));
  edit.absorb(scaling, product);
}

// (q · s) against a cache of keys: the attention has a factor of its own.
void fold_scale_of_queries(GraphEdit& edit, NodeId attention) {
  const NodeId scaling = scaling_of(edit, edit.node(attention).inputs[0]);
  if (!scaling.is_valid()) return;
  const WithNumber scaled = *scaled_value(edit, edit.node(scaling));
  edit.replace_value(edit.node(scaling).outputs[0], scaled.value);
  Node scaled_attention = edit.node(attention);
  scaled_attention.set(
      "scale", static_cast<float>(scaled_attention.float_or("scale", 1.0f) * scaled.number));
  edit.set_node(attention, std::move(scaled_attention));
  edit.absorb(scaling, attention);
}

bool is_cached_attention(const Node& node) {
  return node.op == "CachedAttention" && node.domain == kOwnDomain;
}

// The node that scales the result becomes the product.
void fold_scale_of_result(GraphEdit& edit, NodeId product) {
  const ValueId result = edit.node(product).outputs[0];
  const NodeId reader = edit.only_reader(result);
  if (!reader.is_valid()) return;
  const auto scaled = scaled_value(edit, edit.node(reader));
  if (!scaled || scaled->value != result) return;
  Node last = with_scale(edit.node(product), scaled->number);
  last.outputs = edit.node(reader).outputs;
  edit.set_node(reader, std::move(last));
  edit.absorb(product, reader);
}

}  // namespace

void fold_product_scales(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (!edit.is_alive(id)) continue;
    if (is_cached_attention(edit.node(id))) fold_scale_of_queries(edit, id);
    if (!is_product_of_activations(edit, edit.node(id))) continue;
    fold_scale_of_operand(edit, id, 0);
    fold_scale_of_operand(edit, id, 1);
    fold_scale_of_result(edit, id);
  }
}

}  // namespace assay::transform
