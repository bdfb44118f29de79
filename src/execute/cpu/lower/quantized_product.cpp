// Matrix products of 8-bit numbers with known weights, by oneDNN or by tile instructions:
// QLinearMatMul and QGemm, whose results are 8-bit numbers or floats.
#include "execute/cpu/lower/quantized_product.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

std::optional<ProductLayer> product_layer_of(const Lowering& lowering, NodeId id,
                                             const ProductOperands& of, bool is_transposed) {
  const Tensor* stored = lowering.constant(of.weights);
  if (!is_8_bit(lowering, of.source) || stored == nullptr || stored->dims().size() != 2) return {};
  auto weights = shifted_weights(lowering, of.weights, of.weight_zero, is_transposed ? 0 : 1);
  const Dims dims = lowering.dims(of.source);
  if (!weights || dims.empty()) return {};
  ProductLayer layer{.id = id,
                     .is_transposed = is_transposed,
                     .weights = std::move(weights->numbers),
                     .weight_zero_points = std::move(weights->zero_points),
                     .weight_scales = {1}};
  layer.k = stored->dims()[is_transposed ? 1 : 0];
  layer.n = stored->dims()[is_transposed ? 0 : 1];
  if (dims.back() != layer.k || layer.k == 0 || layer.n == 0) return {};
  layer.m = checked_product(dims).value_or(0) / layer.k;
  if (layer.m == 0) return {};
  if (of.weight_scale.is_valid()) layer.weight_scales = constant_numbers(lowering, of.weight_scale);
  const auto scales = static_cast<std::int64_t>(layer.weight_scales.size());
  if (scales != 1 && scales != layer.n) return {};
  return layer;
}

std::vector<std::int32_t> column_sums(const ProductLayer& layer) {
  const auto numbers = layer.weights.to_vector<std::int8_t>();
  const auto n = static_cast<std::size_t>(layer.n);
  const auto k = static_cast<std::size_t>(layer.k);
  std::vector<std::int32_t> sums(n, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    sums[layer.is_transposed ? i / k : i % n] += numbers[i];
  for (std::size_t i = 0; i < layer.weight_zero_points.size(); ++i)
    sums[i] -= layer.weight_zero_points[i] * static_cast<std::int32_t>(k);
  return sums;
}

namespace {

Desc stored_desc(const ProductLayer& layer, bool as_matrix) {
  const Dims strides = layer.is_transposed ? Dims{layer.k, 1} : Dims{1, layer.n};  // of n and k
  if (as_matrix) return strided_desc({layer.k, layer.n}, {strides[1], strides[0]}, DataType::Int8);
  return strided_desc({layer.n, layer.k}, strides, DataType::Int8);
}

struct ProductChoices8 {
  std::vector<Choice> choices;
  std::size_t inner = 0;  // the first `inner` are inner products, the rest matrix products
};

ProductChoices8 choices_for(const ProductLayer& layer, Product what) {
  ProductChoices8 all;
  what.weights = any_desc({layer.n, layer.k}, DataType::Int8);
  all.choices = inner_products(what, 2);
  const auto is_unfit = [](const Choice& choice) {
    return choice.implementation.starts_with("ref") ||
           !has_exact_8_bit_products(choice.implementation);
  };
  std::erase_if(all.choices, is_unfit);
  all.inner = all.choices.size();
  what.weights = any_desc({layer.k, layer.n}, DataType::Int8);
  if (what.bias) what.bias = plain_desc({1, layer.n}, element_of(*what.bias));
  for (Choice& choice : matrix_products(what, 2)) {
    if (!is_unfit(choice)) all.choices.push_back(std::move(choice));
  }
  return all;
}

std::string key_of(const ProductLayer& layer, const Product& what) {
  std::string key = "qproduct";
  for (const std::int64_t size : {layer.m, layer.k, layer.n}) key += " " + std::to_string(size);
  key += std::string(" ") + std::to_string(static_cast<int>(element_of(what.source))) + "." +
         std::to_string(static_cast<int>(element_of(what.result)));
  return key + (what.bias ? " b" : "");
}

std::int64_t product_flops(const ProductLayer& layer) {
  return saturating_multiply(2,
                             saturating_multiply(layer.m, saturating_multiply(layer.k, layer.n)));
}

std::optional<Choice> tile_choice_for(const Lowering& lowering, const ProductLayer& layer,
                                      const Product& what) {
  TileLayer tiled =
      tile_matrix_product(layer.m, layer.k, layer.n, tile_type(element_of(what.source)));
  tiled.epilogue = tile_epilogue(what.post_ops, element_of(what.result), 0);
  return tile_choice(lowering, tiled, 1, what.source, what.result);
}

}  // namespace

std::optional<ProductStep> product_step(Lowering& lowering, const ProductLayer& layer,
                                        const Product& what, const Placement& source,
                                        const Placement& result,
                                        const std::optional<Tensor>& bias) {
  ProductChoices8 all = choices_for(layer, what);
  if (auto choice = tile_choice_for(lowering, layer, what)) {
    all.choices.insert(all.choices.begin(), std::move(*choice));
    ++all.inner;
  }
  if (all.choices.empty()) return {};
  const std::size_t chosen = lowering.tuner().fastest(key_of(layer, what), all.choices);
  const Choice& choice = all.choices[chosen];
  const bool is_tiled = uses_tiles(choice);
  TileConstants constants{.bias = bias, .are_transposed = !layer.is_transposed};
  if (what.requantization) constants.scales = what.requantization->scales;
  const Placement weights =
      is_tiled ? packed_weights(lowering, choice, layer.weights, constants, layer.id)
               : lowering.weights().reordered(
                     layer.weights, stored_desc(layer, chosen >= all.inner), choice.weights);
  ProductStep step{
      .draft = {.nodes = {layer.id},
                .algorithm = choice.implementation,
                .precision = "int8",
                .executed_flops = is_tiled ? choice.own->flops() : product_flops(layer),
                .reads = {source, weights},
                .writes = {result}},
      .bind = {}};
  std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                     {argument::kWeights, choice.weights, weights}};
  if (bias && !is_tiled) {
    const Placement placed = lowering.weights().stored(*bias);
    arguments.push_back({argument::kBias, choice.bias, placed});
    step.draft.reads.push_back(placed);
  }
  arguments.push_back({argument::kResult, choice.result, result});
  add_scratchpad(lowering, choice.scratchpad, step.draft, arguments);
  step.bind = is_tiled ? own_binder(choice, arguments)
                       : primitive_binder(choice.primitive, std::move(arguments));
  return step;
}

ProductOperands operands_of(const Node& node) {
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const bool is_gemm = node.op == "QGemm";
  return {.source = input(0),
          .source_scale = input(1),
          .source_zero = input(2),
          .weights = input(3),
          .weight_scale = input(4),
          .weight_zero = input(5),
          .bias = is_gemm ? input(6) : ValueId{},
          .result_scale = input(is_gemm ? 7 : 6),
          .result_zero = input(is_gemm ? 8 : 7)};
}

namespace {

// What the source's zero point takes from each sum, and the bias.
std::optional<Tensor> bias_of(const ProductLayer& layer, std::int32_t source_zero_point,
                              const Tensor* bias) {
  if (bias == nullptr && source_zero_point == 0) return {};
  std::vector<std::int32_t> sums(static_cast<std::size_t>(layer.n), 0);
  if (bias != nullptr) {
    const auto given = bias->to_vector<std::int32_t>();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = given[given.size() == 1 ? 0 : i];
  }
  if (source_zero_point != 0) {
    const auto columns = column_sums(layer);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] -= source_zero_point * columns[i];
  }
  return Tensor::of<std::int32_t>(DataType::Int32, {layer.n}, sums);
}

bool fits_columns(const Tensor* bias, std::int64_t n) {
  if (bias == nullptr) return true;
  const std::int64_t count = checked_product(bias->dims()).value_or(0);
  const bool is_row = bias->dims().empty() || bias->dims().back() == count;
  return bias->type() == DataType::Int32 && is_row && (count == n || count == 1);
}

bool lower_quantized_product(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  const ProductOperands of = operands_of(node);
  if (lowering.constant(of.weights) == nullptr) return lower_product_of_activations(lowering, id);
  if (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1.0f) return false;
  const auto layer = product_layer_of(lowering, id, of, node.int_or("transB", 0) != 0);
  const auto source_scale =
      scale8_of(lowering, of.source_scale, of.source_zero,
                is_8_bit(lowering, of.source) ? type_of(lowering, of.source) : DataType::Undefined);
  if (!layer || !source_scale) return false;
  const Tensor* given = of.bias.is_valid() ? lowering.constant(of.bias) : nullptr;
  if ((of.bias.is_valid() && given == nullptr) || !fits_columns(given, layer->n)) return false;
  if (!layer->weight_zero_points.empty()) return lower_by_sums(lowering, *layer, given);
  ValueId value = node.outputs[0];
  const bool is_float = !of.result_scale.is_valid();
  Scale8 to;
  if (!is_float) {
    const auto found =
        scale8_of(lowering, of.result_scale, of.result_zero, type_of(lowering, value));
    if (!found) return false;
    to = *found;
  }
  const auto clip = clip_after(lowering, value);
  const auto bias = bias_of(*layer, source_scale->zero_point, given);
  Product what;
  what.source = plain_desc({layer->m, layer->k}, type_of(lowering, of.source));
  what.result = plain_desc({layer->m, layer->n}, type_of(lowering, value));
  if (bias) what.bias = plain_desc({layer->n}, DataType::Int32);
  Requantization how;
  for (const float scale : layer->weight_scales)
    how.scales.push_back(source_scale->scale * scale / to.scale);
  what.requantization = how;
  what.post_ops = ops_before_storing(to, clip);
  const Placement source = lowering.row_major(of.source);
  if (clip) value = lowering.node(clip->node).outputs[0];
  const Placement result = lowering.new_row_major(value);
  auto step = product_step(lowering, *layer, what, source, result, bias);
  if (!step) return false;
  if (clip) {
    lowering.cover(clip->node);
    step->draft.nodes.push_back(clip->node);
  }
  lowering.add_step(step->draft, step->bind);
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

void add_quantized_product_lowering(LowerTable& table) {
  table["QLinearMatMul"] = lower_quantized_product;
  table["com.microsoft.QGemm"] = lower_quantized_product;
}

}  // namespace assay::cpu
