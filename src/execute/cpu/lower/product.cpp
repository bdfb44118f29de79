// Gemm and MatMul. A weight on the right becomes an inner product with its bias, activation and
// residual fused; two activations become one small product for each matrix of the batch, read and
// written through strides so that no operand has to be transposed first.
#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "execute/cpu/lower/fused_ops.h"
#include "execute/cpu/lower/own_product.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
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
};

// A vector that is added to every row, and known before the model runs.
bool is_bias(const Lowering& lowering, ValueId value, std::int64_t width) {
  if (lowering.constant(value) == nullptr && !lowering.is_state(value)) return false;
  const Dims dims = lowering.dims(value);
  return lowering.is_float(value) && !dims.empty() && dims.back() == width &&
         checked_product(dims).value_or(0) == width;
}

std::optional<Linear> linear_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() < 2 || !lowering.is_float(node.inputs[0])) return {};
  Linear linear{.id = id, .source = node.inputs[0], .weight = lowering.constant(node.inputs[1])};
  if (linear.weight == nullptr && !lowering.is_state(node.inputs[1])) return {};
  const Dims weight = lowering.dims(node.inputs[1]);
  if (weight.size() != 2 || !lowering.is_float(node.inputs[1])) return {};
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
  if (as_matrix) return strided_desc({k, n}, {strides[1], strides[0]});
  return strided_desc({n, k}, strides);
}

Product described(const Linear& linear, const FusedOps& fused) {
  Product what;
  what.source = plain_desc({linear.m, linear.k});
  // A weight that others read as it is stored is not stored a second time.
  what.weights = linear.is_shared ? stored_weights(linear, false) : any_desc({linear.n, linear.k});
  if (linear.bias) what.bias = plain_desc({linear.n});
  what.result = plain_desc({linear.m, linear.n});
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

ProductChoices choices_for(const Linear& linear, const Product& what, OptimizeFor goal) {
  ProductChoices all;
  const bool is_small = goal == OptimizeFor::Memory;
  all.choices = is_small ? small_inner_products(linear, what) : inner_products(what, 2);
  std::erase_if(all.choices, is_slow_product);
  all.inner = all.choices.size();
  if (is_small && !all.choices.empty()) return all;
  if (linear.is_shared) return all;
  Product as_matrix = what;
  as_matrix.weights = any_desc({linear.k, linear.n});
  if (as_matrix.bias) as_matrix.bias = plain_desc({1, linear.n});
  for (Choice& choice : matrix_products(as_matrix, 2)) {
    if (!is_slow_product(choice)) all.choices.push_back(std::move(choice));
  }
  return all;
}

std::string key_of(const Linear& linear, const FusedOps& fused) {
  std::string key = "product " + std::to_string(linear.m) + " " + std::to_string(linear.k) + " " +
                    std::to_string(linear.n) + (linear.bias ? " b" : "");
  for (const PostOp& op : fused.post_ops) {
    key += " " + std::to_string(static_cast<int>(op.kind)) + "." +
           std::to_string(static_cast<int>(op.algorithm));
  }
  return key;
}

void add_product_step(Lowering& lowering, const Linear& linear, const FusedOps& fused,
                      const Choice& choice, bool as_matrix, const Placement& source,
                      std::vector<NodeId> nodes) {
  const Placement weights =
      linear.is_shared ? lowering.row_major(lowering.node(linear.id).inputs[1])
                       : lowering.weights().reordered(
                             *linear.weight, stored_weights(linear, as_matrix), choice.weights);
  StepDraft draft{.nodes = std::move(nodes),
                  .algorithm = choice.implementation,
                  .reads = {source, weights},
                  .writes = {}};
  std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                     {argument::kWeights, choice.weights, weights}};
  if (linear.bias) {
    const Placement bias = lowering.row_major(*linear.bias);
    arguments.push_back({argument::kBias, choice.bias, bias});
    draft.reads.push_back(bias);
  }
  std::optional<Placement> addend;
  if (fused.addend) {
    addend = lowering.row_major(*fused.addend);
    draft.reads.push_back(*addend);
    add_addend_argument(fused, choice.result, *addend, arguments);
  }
  const Placement result = fused.in_place ? *addend : lowering.new_row_major(fused.result);
  arguments.push_back({argument::kResult, choice.result, result});
  draft.writes.push_back(result);
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  draft.nodes.insert(draft.nodes.end(), fused.nodes.begin(), fused.nodes.end());
  draft.executed_flops =
      saturating_add(saturating_multiply(
                         2, saturating_multiply(linear.m, saturating_multiply(linear.k, linear.n))),
                     fused.flops);
  lowering.add_step(draft, primitive_binder(choice.primitive, std::move(arguments)));
  lowering.set_placement(fused.result, result);
}

bool lower_few_rows(Lowering& lowering, const Linear& linear) {
  if (linear.weight == nullptr) return false;
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
  const Placement source = lowering.row_major(linear.source);
  const OptimizeFor goal = lowering.options().program.optimize_for;
  FusedOps fused = find_fused_ops(lowering, linear.id, value, Additions::Taken);
  ProductChoices all = choices_for(linear, described(linear, fused), goal);
  if (all.choices.empty()) {
    fused = no_fused_ops(value);
    all = choices_for(linear, described(linear, fused), goal);
  }
  if (all.choices.empty())
    fail_running("MatMul '{}': oneDNN refuses what it offered", lowering.node(linear.id).name);
  for (const NodeId node : fused.nodes) lowering.cover(node);
  const std::size_t chosen = lowering.tuner().fastest(key_of(linear, fused), all.choices);
  add_product_step(lowering, linear, fused, all.choices[chosen], chosen >= all.inner, source,
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
