// Gemm and MatMul with a weight on the right: an inner product by oneDNN, by tile instructions or
// by our own kernels, with bias, activation and residual fused. Products of two activations are in
// batched_product.cpp.
#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "execute/cpu/lower/fused_ops.h"
#include "execute/cpu/lower/half_choices.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/lower/own_product.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

namespace {

// result[m, n] = source[m, k] · weight, where weight is stored [k, n], or [n, k] if transposed.
struct Linear {
  NodeId id;
  ValueId source;
  const Tensor* weight = nullptr;  // null: it changes from run to run
  bool is_transposed = false;
  bool is_shared = false;  // the weight is used as it is stored
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::optional<ValueId> bias = {};
  DataType type = DataType::Float32;  // of source and result
  // The type of 16 bits that our own products read and write instead, where they exist.
  std::optional<DataType> own_type = {};

  DataType type_of(const Choice& choice) const {
    return own_type && choice.own != nullptr ? *own_type : type;
  }
};

// A vector that is added to every row, and known before the model runs.
bool is_bias(const Lowering& lowering, ValueId value, std::int64_t width) {
  if (lowering.constant(value) == nullptr && !lowering.is_state(value)) return false;
  const Dims dims = lowering.dims(value);
  return lowering.is_real(value) && !dims.empty() && dims.back() == width &&
         checked_product(dims).value_or(0) == width;
}

std::optional<Linear> linear_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() < 2 || !lowering.is_real(node.inputs[0])) return {};
  Linear linear{.id = id, .source = node.inputs[0], .weight = lowering.constant(node.inputs[1])};
  if (linear.weight == nullptr && !lowering.is_state(node.inputs[1])) return {};
  const Dims weight = lowering.dims(node.inputs[1]);
  if (weight.size() != 2 || !lowering.is_real(node.inputs[1])) return {};
  linear.type = lowering.type(node.outputs[0]);
  if (linear.type == DataType::Float16) {
    linear.own_type = linear.type;
    linear.type = DataType::Float32;
  }
  const DataType stored = lowering.type(node.inputs[1]);
  if (linear.weight == nullptr && stored != DataType::Float32) return {};
  linear.is_transposed = node.int_or("transB", 0) != 0;
  linear.is_shared = linear.weight == nullptr ||
                     (linear.is_transposed && !lowering.only_reader(node.inputs[1]).is_valid());
  linear.k = weight[linear.is_transposed ? 1 : 0];
  linear.n = weight[linear.is_transposed ? 0 : 1];
  const auto dims = lowering.dims(linear.source);
  if (dims.empty() || dims.back() != linear.k || linear.k == 0 || linear.n == 0) return {};
  linear.m = checked_product(dims).value_or(0) / linear.k;
  // A few rows are bound by reading the weight, in whatever layout: a large one stays where it is.
  constexpr std::int64_t kFewRows = 8;
  const bool is_large = linear.weight != nullptr && linear.weight->byte_size() > kLargeWeight;
  if (linear.is_transposed && is_large && linear.m <= kFewRows) linear.is_shared = true;
  if (linear.m == 0) return {};
  // Numbers of 16 bits are packed in pairs, as no weight is stored.
  if (stored != DataType::Float32) linear.is_shared = false;
  if (node.op == "Gemm") {
    if (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1.0f) return {};
    if (node.has_input(2)) {
      if (!is_bias(lowering, node.inputs[2], linear.n)) return {};
      if (node.float_or("beta", 1) != 1.0f) return {};
      linear.bias = node.inputs[2];
    }
  }
  if (node.op == "FusedMatMul") {
    const bool is_plain = node.int_or("transA", 0) == 0 && node.float_or("alpha", 1) == 1.0f &&
                          node.int_or("transBatchA", 0) == 0 && node.int_or("transBatchB", 0) == 0;
    if (!is_plain) return {};
  }
  return linear;
}

// The Add behind a MatMul that adds a vector to every row.
NodeId bias_after(const Lowering& lowering, const Linear& linear, ValueId result) {
  const NodeId reader = lowering.only_reader(result);
  if (!reader.is_valid() || lowering.is_covered(reader) || !lowering.node(reader).is("Add"))
    return {};
  const Node& add = lowering.node(reader);
  const ValueId other = add.inputs[add.inputs[0] == result ? 1 : 0];
  const bool fits =
      is_bias(lowering, other, linear.n) && lowering.dims(add.outputs[0]) == lowering.dims(result);
  return fits ? reader : NodeId{};
}

Desc stored_weights(const Linear& linear, bool as_matrix) {
  const std::int64_t k = linear.k;
  const std::int64_t n = linear.n;
  const Dims strides = linear.is_transposed ? Dims{k, 1} : Dims{1, n};  // of n and of k
  if (as_matrix) return strided_desc({k, n}, {strides[1], strides[0]}, linear.type);
  return strided_desc({n, k}, strides, linear.type);
}

Product described(const Linear& linear, const FusedOps& fused) {
  Product what;
  what.source = plain_desc({linear.m, linear.k}, linear.type);
  // A weight that others read as it is stored is not stored a second time.
  what.weights = linear.is_shared ? stored_weights(linear, false)
                                  : any_desc({linear.n, linear.k}, linear.type);
  if (linear.bias) what.bias = plain_desc({linear.n});
  what.result = plain_desc({linear.m, linear.n}, linear.type);
  what.post_ops = post_ops_for(fused, what.result);
  return what;
}

struct ProductChoices {
  std::vector<Choice> choices;
  std::size_t inner = 0;  // the first `inner` are inner products, the rest matrix products
};

bool is_slow_product(const Choice& choice) {
  return choice.implementation.starts_with("ref");
}

// Besides what oneDNN likes best, the weight as it is stored, which is never padded.
std::vector<Choice> small_inner_products(const Linear& linear, Product what) {
  std::vector<Choice> choices = inner_products(what, 2);
  what.weights = stored_weights(linear, false);
  for (Choice& choice : inner_products(what, 1)) choices.push_back(std::move(choice));
  keep_small_weights(choices);
  return choices;
}

// A product of few rows is bound by reading weights, and those too large to try are read only so.
constexpr std::int64_t kFewProductRows = 8;

ProductChoices choices_for(const Linear& linear, const Product& what, OptimizeFor goal) {
  ProductChoices all;
  const bool is_small = goal == OptimizeFor::Memory;
  all.choices = is_small ? small_inner_products(linear, what) : inner_products(what, 2);
  std::erase_if(all.choices, is_slow_product);
  all.inner = all.choices.size();
  if (is_small && !all.choices.empty()) return all;
  if (linear.is_shared) return all;
  Product as_matrix = what;
  as_matrix.weights = any_desc({linear.k, linear.n}, linear.type);
  if (as_matrix.bias) as_matrix.bias = plain_desc({1, linear.n});
  for (Choice& choice : matrix_products(as_matrix, 2)) {
    if (!is_slow_product(choice)) all.choices.push_back(std::move(choice));
  }
  return all;
}

std::string key_of(const Linear& linear, const FusedOps& fused) {
  std::string key = "product " + std::to_string(linear.m) + " " + std::to_string(linear.k) + " " +
                    std::to_string(linear.n) + (linear.bias ? " b" : "") +
                    (linear.type == DataType::BFloat16 ? " bf16" : "") +
                    (linear.own_type ? " fp16" : "");
  for (const PostOp& op : fused.post_ops) {
    key += " " + std::to_string(static_cast<int>(op.kind)) + "." +
           std::to_string(static_cast<int>(op.algorithm));
  }
  return key;
}

Placement weight_placement(Lowering& lowering, const Linear& linear, const Choice& choice,
                           bool as_matrix) {
  if (uses_tiles(choice)) {
    TileConstants constants{.are_transposed = !linear.is_transposed};
    if (linear.bias) constants.bias = *lowering.constant(*linear.bias);
    return packed_weights(lowering, choice, *linear.weight, std::move(constants), linear.id);
  }
  if (choice.own != nullptr)
    return packed_matrix(lowering, choice, *linear.weight, linear.is_transposed);
  if (linear.is_shared) return lowering.row_major(lowering.node(linear.id).inputs[1]);
  return lowering.weights().reordered(lowering.weights().in_type(*linear.weight, linear.type),
                                      stored_weights(linear, as_matrix), choice.weights);
}

DataType computed_type(const Linear& linear, const Choice& choice) {
  if (computes_in_float16(choice)) return DataType::Float16;
  return choice.own != nullptr && !uses_tiles(choice) ? DataType::Float32 : linear.type;
}

void add_product_step(Lowering& lowering, const Linear& linear, const FusedOps& fused,
                      const Choice& choice, bool as_matrix, std::vector<NodeId> nodes) {
  const DataType type = linear.type_of(choice);
  const Placement source = lowering.row_major_as(linear.source, type);
  const Placement weights = weight_placement(lowering, linear, choice, as_matrix);
  StepDraft draft{.nodes = std::move(nodes),
                  .algorithm = choice.implementation,
                  .precision = execute::precision_name(computed_type(linear, choice)),
                  .reads = {source, weights},
                  .writes = {}};
  std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                     {argument::kWeights, choice.weights, weights}};
  if (linear.bias && !uses_tiles(choice)) {
    const Placement bias = lowering.row_major_as(*linear.bias, DataType::Float32);
    arguments.push_back({argument::kBias, choice.bias, bias});
    draft.reads.push_back(bias);
  }
  std::optional<Placement> addend;
  if (fused.addend) {
    addend = lowering.row_major_as(*fused.addend, type);
    draft.reads.push_back(*addend);
    add_addend_argument(fused, choice.result, *addend, arguments);
  }
  const Placement result = fused.in_place ? *addend : lowering.new_row_major_as(fused.result, type);
  arguments.push_back({argument::kResult, choice.result, result});
  draft.writes.push_back(result);
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  draft.nodes.insert(draft.nodes.end(), fused.nodes.begin(), fused.nodes.end());
  draft.executed_flops =
      saturating_add(saturating_multiply(
                         2, saturating_multiply(linear.m, saturating_multiply(linear.k, linear.n))),
                     fused.flops);
  lowering.add_step(draft, choice.own != nullptr
                               ? own_binder(choice, arguments, addend)
                               : primitive_binder(choice.primitive, std::move(arguments)));
  lowering.set_placement(fused.result, result);
}

// Our own products, for weights of 16 bits. oneDNN's take more than a few rows better, unless that
// takes wider numbers and memory counts.
void add_half_choices(const Lowering& lowering, const Linear& linear, const FusedOps& fused,
                      ProductChoices& all) {
  if (linear.weight == nullptr || !half_format(linear.weight->type())) return;
  if (linear.own_type && lowering.options().ieee_strict) return;
  const OwnMatrixProduct product{.m = linear.m,
                                 .k = linear.k,
                                 .n = linear.n,
                                 .has_bias = linear.bias.has_value(),
                                 .weight = *linear.weight,
                                 .type = linear.own_type.value_or(linear.type)};
  const bool widens = linear.type == DataType::Float32;
  std::vector<Choice> own;
  if (widens && linear.m > kFewProductRows) own = many_rows_choices(lowering, product, fused);
  if (auto few = few_rows_choice(lowering, product, fused)) own.push_back(std::move(*few));
  if (own.empty()) return;
  const bool has_to_fit = lowering.options().program.optimize_for == OptimizeFor::Memory;
  const bool is_bound_by_weights = linear.m <= kFewProductRows && is_too_large_to_try(own.front());
  if ((has_to_fit && widens) || is_bound_by_weights) {
    all.choices = {std::move(own.front())};
    all.inner = 1;
    return;
  }
  // What reads and writes fewer bytes is preferred within the noise.
  const auto where = linear.own_type ? all.choices.begin() : all.choices.end();
  if (linear.own_type) all.inner += own.size();
  all.choices.insert(where, std::move_iterator(own.begin()), std::move_iterator(own.end()));
}

// For processors whose products oneDNN does not generate.
void add_panel_choice(const Lowering& lowering, const Linear& linear, const FusedOps& fused,
                      ProductChoices& all) {
  const bool is_constant =
      linear.weight != nullptr && !linear.is_shared && linear.weight->type() == DataType::Float32;
  const bool is_float = linear.type == DataType::Float32 && !linear.own_type;
  if (!is_constant || !is_float || std::ranges::any_of(all.choices, is_generated)) return;
  auto own = many_rows_choices(lowering,
                               {.m = linear.m,
                                .k = linear.k,
                                .n = linear.n,
                                .has_bias = linear.bias.has_value(),
                                .weight = *linear.weight},
                               fused);
  // Panels of few columns are mostly padding.
  const std::size_t stored = linear.weight->byte_size();
  const auto enlarges = [&](const Choice& choice) {
    return bytes_of(choice.weights) > stored + stored / 16;
  };
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) std::erase_if(own, enlarges);
  all.inner += own.size();
  all.choices.insert(all.choices.begin(), std::move_iterator(own.begin()),
                     std::move_iterator(own.end()));
}

// Conversions that a choice asks for.
std::vector<Reorders> conversions_for(Lowering& lowering, const Linear& linear,
                                      const std::vector<Choice>& choices) {
  std::vector<Reorders> all;
  if (!linear.own_type) return all;
  const DataType native = lowering.native(linear.source).type;
  for (const Choice& choice : choices) {
    Reorders& reorders = all.emplace_back();
    if (element_of(choice.source) != native)
      reorders.emplace_back(with_type(choice.source, native), choice.source);
    if (element_of(choice.result) != *linear.own_type)
      reorders.emplace_back(choice.result, with_type(choice.result, *linear.own_type));
  }
  return all;
}

void add_tile_choice(const Lowering& lowering, const Linear& linear, const FusedOps& fused,
                     ProductChoices& all) {
  const auto epilogue = bf16_tile_epilogue(fused.post_ops);
  const bool has_constants =
      linear.weight != nullptr && (!linear.bias || lowering.constant(*linear.bias) != nullptr);
  if (!epilogue || !has_constants || linear.type != DataType::BFloat16) return;
  TileLayer layer = tile_matrix_product(linear.m, linear.k, linear.n, TileType::BF16);
  layer.epilogue = *epilogue;
  auto choice = tile_choice(lowering, layer, 1, plain_desc({linear.m, linear.k}, linear.type),
                            plain_desc({linear.m, linear.n}, linear.type));
  if (!choice) return;
  all.choices.insert(all.choices.begin(), std::move(*choice));
  ++all.inner;
}

bool lower_few_rows(Lowering& lowering, const Linear& linear) {
  const bool is_float = linear.type == DataType::Float32 && !linear.own_type &&
                        lowering.type(lowering.node(linear.id).inputs[1]) == DataType::Float32;
  if (!is_float) return false;
  return lower_few_rows_product(lowering, {.id = linear.id,
                                           .source = linear.source,
                                           .weight = linear.weight,
                                           .is_transposed = linear.is_transposed,
                                           .is_shared = linear.is_shared,
                                           .m = linear.m,
                                           .k = linear.k,
                                           .n = linear.n,
                                           .bias = linear.bias});
}

bool lower_linear(Lowering& lowering, const Linear& given) {
  if (lower_few_rows(lowering, given)) return true;
  Linear linear = given;
  if (inner_products(described(linear, {}), 1).empty()) return false;
  ValueId value = lowering.node(linear.id).outputs[0];
  std::vector<NodeId> nodes = {linear.id};
  if (!linear.bias) {
    if (const NodeId add = bias_after(lowering, linear, value); add.is_valid()) {
      const Node& node = lowering.node(add);
      linear.bias = node.inputs[node.inputs[0] == value ? 1 : 0];
      value = node.outputs[0];
      lowering.cover(add);
      nodes.push_back(add);
    }
  }
  const OptimizeFor goal = lowering.options().program.optimize_for;
  FusedOps fused = find_fused_ops(lowering, linear.id, value, Additions::Taken);
  ProductChoices all = choices_for(linear, described(linear, fused), goal);
  if (all.choices.empty()) {
    fused = no_fused_ops(value);
    all = choices_for(linear, described(linear, fused), goal);
  }
  if (all.choices.empty())
    fail_running("MatMul '{}': oneDNN rejected every implementation that it listed",
                 lowering.node(linear.id).name);
  add_tile_choice(lowering, linear, fused, all);
  add_half_choices(lowering, linear, fused, all);
  add_panel_choice(lowering, linear, fused, all);
  for (const NodeId node : fused.nodes) lowering.cover(node);
  const std::size_t chosen = lowering.tuner().fastest(
      key_of(linear, fused), all.choices, conversions_for(lowering, linear, all.choices));
  add_product_step(lowering, linear, fused, all.choices[chosen], chosen >= all.inner,
                   std::move(nodes));
  return true;
}

bool lower_product(Lowering& lowering, NodeId id) {
  if (const auto linear = linear_of(lowering, id)) return lower_linear(lowering, *linear);
  return lower_batched_product(lowering, id);
}

}  // namespace

void add_product_lowering(LowerTable& table) {
  table["Gemm"] = lower_product;
  table["MatMul"] = lower_product;
  table["com.microsoft.FusedMatMul"] = lower_product;
}

}  // namespace assay::cpu
