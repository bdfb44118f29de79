// Matrix products of 8-bit numbers with known weights: QLinearMatMul and QGemm, whose results are
// 8-bit numbers or floats, and MatMulIntegerToFloat, whose source is quantised while it runs.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// weights[k, n], or [n, k] where transposed.
struct ProductLayer {
  NodeId id;
  std::int64_t m = 0, k = 0, n = 0;
  bool is_transposed = false;
  Tensor weights;
  std::vector<float> weight_scales;
};

std::optional<ProductLayer> product_layer_of(const Lowering& lowering, NodeId id, ValueId source,
                                             ValueId weights, ValueId zero_point, ValueId scale,
                                             bool is_transposed) {
  const Tensor* stored = lowering.constant(weights);
  if (!is_8_bit(lowering, source) || stored == nullptr || stored->dims().size() != 2) return {};
  auto numbers = signed_weights(lowering, weights, zero_point, is_transposed ? 0 : 1);
  const Dims dims = lowering.dims(source);
  if (!numbers || dims.empty()) return {};
  ProductLayer layer{.id = id,
                     .is_transposed = is_transposed,
                     .weights = std::move(*numbers),
                     .weight_scales = {}};
  layer.k = stored->dims()[is_transposed ? 1 : 0];
  layer.n = stored->dims()[is_transposed ? 0 : 1];
  if (dims.back() != layer.k || layer.k == 0 || layer.n == 0) return {};
  layer.m = checked_product(dims).value_or(0) / layer.k;
  if (layer.m == 0) return {};
  layer.weight_scales = constant_numbers(lowering, scale);
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
  return sums;
}

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

struct ProductStep {
  StepDraft draft;
  Binder bind;
};

std::optional<Choice> tile_choice_for(const Lowering& lowering, const ProductLayer& layer,
                                      const Product& what) {
  TileLayer tiled =
      tile_matrix_product(layer.m, layer.k, layer.n, tile_type(element_of(what.source)));
  tiled.ending = tile_ending(what.post_ops, element_of(what.result), 0);
  return tile_choice(lowering, tiled, 1, what.source, what.result);
}

// The product as oneDNN runs it, or tiles of ours, from `source` to `result`.
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

// The operands by position, which differ between the two ops.
struct ProductOperands {
  ValueId source, source_scale, source_zero;
  ValueId weights, weight_scale, weight_zero;
  ValueId bias, result_scale, result_zero;
};

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
  const auto layer = product_layer_of(lowering, id, of.source, of.weights, of.weight_zero,
                                      of.weight_scale, node.int_or("transB", 0) != 0);
  const auto source_scale =
      scale8_of(lowering, of.source_scale, of.source_zero,
                is_8_bit(lowering, of.source) ? type_of(lowering, of.source) : DataType::Undefined);
  if (!layer || !source_scale) return false;
  const Tensor* given = of.bias.is_valid() ? lowering.constant(of.bias) : nullptr;
  if ((of.bias.is_valid() && given == nullptr) || !fits_columns(given, layer->n)) return false;
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

// Sums of 32 bits first, then scaled: the source's scale and zero point are known only at run time.
bool lower_product_to_float(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const auto layer = product_layer_of(lowering, id, input(0), input(1), input(5), input(3), false);
  if (!layer || !lowering.is_float(input(2)) || lowering.is_dynamic(node.outputs[0])) return false;
  if (checked_product(lowering.dims(input(2))).value_or(0) != 1) return false;
  if (input(4).is_valid() && checked_product(lowering.dims(input(4))).value_or(0) != 1)
    return false;
  std::vector<float> bias = constant_numbers(lowering, input(6));
  const auto columns = static_cast<std::size_t>(layer->n);
  if (input(6).is_valid() && bias.size() != columns) return false;
  std::vector<float> scales = layer->weight_scales;
  if (scales.size() == 1) scales.assign(columns, scales.front());
  Product what;
  what.source = plain_desc({layer->m, layer->k}, type_of(lowering, input(0)));
  what.result = plain_desc({layer->m, layer->n}, DataType::Int32);
  const Placement source = lowering.row_major(input(0));
  Placement sums = row_major_placement({}, DataType::Int32, {layer->m, layer->n});
  sums.buffer = lowering.new_buffer(sums.bytes());
  auto step = product_step(lowering, *layer, what, source, sums, {});
  if (!step) return false;
  const Placement scale = lowering.row_major(input(2));
  std::optional<Placement> zero;
  if (input(4).is_valid()) zero = lowering.row_major(input(4));
  const bool is_signed = type_of(lowering, input(0)) == DataType::Int8;
  const Placement result = lowering.new_row_major(node.outputs[0]);
  StepDraft& draft = step->draft;
  draft.reads.push_back(scale);
  if (zero) draft.reads.push_back(*zero);
  draft.writes = {result};
  draft.workspace.push_back(sums.buffer);
  const int threads = threads_for(lowering, Rows{layer->m, layer->n});
  struct Constants {
    std::vector<std::int32_t> sums;
    std::vector<float> scales, bias;
  };
  const auto constants = std::make_shared<const Constants>(
      Constants{column_sums(*layer), std::move(scales), std::move(bias)});
  lowering.add_step(draft, [=, product = step->bind, m = layer->m](const Addresses& at) -> Runner {
    const Runner multiply = product(at);
    const auto* from = reinterpret_cast<const std::int32_t*>(at.bytes(sums));
    const float* factor = at.floats(scale);
    const std::byte* zero_at = zero ? at.bytes(*zero) : nullptr;
    float* to = at.floats(result);
    return [=] {
      multiply();
      ScaledSums how{.source_scale = *factor,
                     .column_sums = constants->sums.data(),
                     .scales = constants->scales.data(),
                     .bias = constants->bias.empty() ? nullptr : constants->bias.data()};
      if (zero_at != nullptr)
        how.source_zero_point =
            is_signed ? static_cast<std::int8_t>(*zero_at) : static_cast<std::int32_t>(*zero_at);
      const std::size_t width = constants->sums.size();
      execute::in_parallel(threads, m, [&](std::int64_t first, std::int64_t last) {
        for (auto row = static_cast<std::size_t>(first); row < static_cast<std::size_t>(last);
             ++row)
          simd().scale_sums(how, from + row * width, to + row * width, width);
      });
    };
  });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace

void add_quantized_product_lowering(LowerTable& table) {
  table["QLinearMatMul"] = lower_quantized_product;
  table["com.microsoft.QGemm"] = lower_quantized_product;
  table["com.microsoft.MatMulIntegerToFloat"] = lower_product_to_float;
}

}  // namespace assay::cpu
