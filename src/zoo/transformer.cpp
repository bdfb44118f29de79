#include "zoo/transformer.h"

#include <cmath>
#include <limits>

namespace assay::zoo {

namespace {

ValueId transposed(GraphBuilder& builder, const std::string& name, ValueId value,
                   std::vector<std::int64_t> order) {
  return builder.node("Transpose", name, {value}, {{"perm", std::move(order)}});
}

// [batch, tokens, width] → [batch, tokens, heads, width / heads], then the axes in `order`.
ValueId split_heads(GraphBuilder& builder, const std::string& name, ValueId value,
                    const AttentionOptions& options, std::vector<std::int64_t> order) {
  // A zero copies the input's dimension: batch and tokens stay free.
  const ValueId shape =
      builder.ints(name + ".shape", {0, 0, options.heads, options.width / options.heads});
  const ValueId heads = builder.node("Reshape", name + ".heads", {value, shape});
  return transposed(builder, name, heads, std::move(order));
}

ValueId scaled(GraphBuilder& builder, ValueId queries, const AttentionOptions& options) {
  const std::int64_t head = options.width / options.heads;
  const auto head_width = static_cast<double>(head);
  const ValueId scale = builder.scalar(options.name + ".scale.factor",
                                       static_cast<float>(1.0 / std::sqrt(head_width)));
  return builder.node("Mul", options.name + ".scale", {queries, scale});
}

ValueId masked(GraphBuilder& builder, ValueId scores, const AttentionOptions& options) {
  if (!options.mask) return scores;
  const ValueId lowest =
      builder.scalar(options.name + ".lowest", std::numeric_limits<float>::lowest());
  return builder.node("Where", options.name + ".masked", {*options.mask, scores, lowest});
}

ValueId merged_heads(GraphBuilder& builder, ValueId value, const AttentionOptions& options) {
  const std::string name = options.name + ".merge";
  const ValueId tokens_first = transposed(builder, name, value, {0, 2, 1, 3});
  const ValueId shape = builder.ints(name + ".shape", {0, 0, options.width});
  const ValueId merged = builder.node("Reshape", name + ".heads", {tokens_first, shape});
  builder.set_rank(merged, 3);
  return merged;
}

struct Projected {
  ValueId queries;
  ValueId keys;
  ValueId values;
};

Projected projected(GraphBuilder& builder, ValueId input, const AttentionOptions& options) {
  const auto [width, name] = std::pair(options.width, options.name);
  const ValueId fused =
      Linear(width, 3 * width, {.name = name + "." + options.input_projection})(builder, input);
  const ValueId sizes = builder.ints(name + ".split.sizes", {width, width, width});
  const auto parts = builder.node_with_outputs("Split", name + ".split", {fused, sizes}, 3,
                                               {{"axis", std::int64_t{-1}}});
  return {parts[0], parts[1], parts[2]};
}

// Of keys with their last two axes exchanged.
ValueId attended(GraphBuilder& builder, ValueId queries, ValueId keys, ValueId values,
                 const AttentionOptions& options) {
  const std::string& name = options.name;
  const ValueId scores = builder.node("MatMul", name + ".scores", {queries, keys});
  const ValueId shares = Softmax(-1, name + ".softmax")(builder, masked(builder, scores, options));
  const ValueId context = builder.node("MatMul", name + ".context", {shares, values});
  return Linear(options.width, options.width, {.name = name + "." + options.output_projection})(
      builder, merged_heads(builder, context, options));
}

}  // namespace

ValueId self_attention(GraphBuilder& builder, ValueId input, const AttentionOptions& options) {
  const std::string& name = options.name;
  const Projected parts = projected(builder, input, options);
  const ValueId queries = split_heads(
      builder, name + ".queries", scaled(builder, parts.queries, options), options, {0, 2, 1, 3});
  const ValueId keys = split_heads(builder, name + ".keys", parts.keys, options, {0, 2, 3, 1});
  const ValueId values =
      split_heads(builder, name + ".values", parts.values, options, {0, 2, 1, 3});
  return attended(builder, queries, keys, values, options);
}

AttentionOverPast attention_over_past(GraphBuilder& builder, ValueId input,
                                      const KeysAndValues& past, const AttentionOptions& options) {
  const std::string& name = options.name;
  const Projected parts = projected(builder, input, options);
  const auto by_head = [&](const std::string& what, ValueId value) {
    return split_heads(builder, name + "." + what, value, options, {0, 2, 1, 3});
  };
  const auto appended = [&](const std::string& what, ValueId earlier, ValueId added) {
    return builder.node("Concat", name + "." + what, {earlier, added}, {{"axis", std::int64_t{2}}});
  };
  const ValueId queries = by_head("queries", scaled(builder, parts.queries, options));
  const KeysAndValues present{appended("all_keys", past.keys, by_head("keys", parts.keys)),
                              appended("all_values", past.values, by_head("values", parts.values))};
  const ValueId keys = transposed(builder, name + ".transposed_keys", present.keys, {0, 1, 3, 2});
  return {attended(builder, queries, keys, present.values, options), present};
}

ValueId residual(GraphBuilder& builder, const std::string& name, ValueId input, ValueId branch) {
  const ValueId sum = builder.node("Add", name, {input, branch});
  builder.set_rank(sum, 3);
  return sum;
}

}  // namespace assay::zoo
