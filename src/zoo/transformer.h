// What the transformers of the zoo share: self-attention from one fused projection, and the
// feed-forward block of two linear layers. Works on [batch, tokens, width] of any batch and number
// of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "assay/layers.h"

namespace assay::zoo {

struct AttentionOptions {
  std::int64_t width = 0;
  std::int64_t heads = 1;  // divides the width
  std::string name;
  std::string input_projection = "in_proj";    // width → 3·width: queries, keys, values
  std::string output_projection = "out_proj";  // width → width
  std::optional<ValueId> mask = {};            // boolean: true where a token may attend
};

// softmax(Q·Kᵀ/√(width/heads))·V for every head, projected.
ValueId self_attention(GraphBuilder& builder, ValueId input, const AttentionOptions& options);

// Keys and values of earlier tokens, [batch, heads, tokens, width / heads].
struct KeysAndValues {
  ValueId keys;
  ValueId values;
};

struct AttentionOverPast {
  ValueId result;
  KeysAndValues present;  // those of earlier tokens, then those of the input
};

// The same over the tokens of `past` and those of `input`.
AttentionOverPast attention_over_past(GraphBuilder& builder, ValueId input,
                                      const KeysAndValues& past, const AttentionOptions& options);

// input + branch.
ValueId residual(GraphBuilder& builder, const std::string& name, ValueId input, ValueId branch);

}  // namespace assay::zoo
