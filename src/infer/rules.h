// One table from op to shape rule. Every family of rules is a file of its own under rules/ and
// enters its ops here.
#pragma once

#include <string_view>
#include <unordered_map>

#include "infer/context.h"

namespace assay::infer {

using Rule = void (*)(InferContext&);
using RuleTable = std::unordered_map<std::string_view, Rule>;

// Null for an unknown op. `If`, `Loop` and `Scan` are not here: they run inference themselves.
Rule find_rule(const Node& node);
std::vector<std::string_view> ops_with_rules(std::string_view domain);

// Standard operators.
void add_elementwise_rules(RuleTable& table);
void add_convolution_rules(RuleTable& table);
void add_pooling_rules(RuleTable& table);
void add_matmul_rules(RuleTable& table);
void add_einsum_rules(RuleTable& table);
void add_normalization_rules(RuleTable& table);
void add_reduction_rules(RuleTable& table);
void add_view_rules(RuleTable& table);
void add_slicing_rules(RuleTable& table);
void add_gather_rules(RuleTable& table);
void add_selection_rules(RuleTable& table);
void add_creation_rules(RuleTable& table);
void add_recurrent_rules(RuleTable& table);
void add_signal_rules(RuleTable& table);
void add_image_rules(RuleTable& table);
void add_quantization_rules(RuleTable& table);
void add_loss_rules(RuleTable& table);
void add_sequence_rules(RuleTable& table);
void add_text_rules(RuleTable& table);

// Other domains.
void add_attention_rules(RuleTable& table);
void add_gradient_rules(RuleTable& table);
void add_ml_rules(RuleTable& table);
void add_training_rules(RuleTable& table);
void add_optimizer_rules(RuleTable& table);
void add_microsoft_rules(RuleTable& table);
void add_quantized_microsoft_rules(RuleTable& table);

// Rules that several families share.
void same_as_input(InferContext& context);         // output 0 has the type of input 0
void broadcast_all_inputs(InferContext& context);  // element type of input 0
void layer_normalization(InferContext& context);   // with the statistics as outputs 1 and 2
void matrix_product(InferContext& context);
void gemm(InferContext& context);
void convolution(InferContext& context);
// Fails unless the operands of an RNN (1 gate), GRU (3) or LSTM (4) fit each other.
struct RecurrentShapes {
  Shape all;   // results of every step
  Shape last;  // of the last one
};
// `weights_are_transposed`: inputs 1 and 2 have their rows, the gates, on the last axis.
RecurrentShapes recurrent_shapes(const InferContext& context, std::int64_t gates,
                                 bool weights_are_transposed = false);
Shape pooled_shape(const InferContext& context, const Shape& input);
Shape gathered_shape(const InferContext& context, const Shape& data, const Shape& indices);
std::optional<Shape> convolved_shape(const InferContext& context, const Shape* input,
                                     const Shape* weight);
// Unknown if scales and sizes are only known at run time.
Shape resized_shape(const InferContext& context, const Shape& input);
// Of a loss of scores (N, C, d…) and targets (N, d…).
std::optional<Shape> loss_shape(const InferContext& context);
std::optional<Shape> matmul_shape(const InferContext& context, const Shape* a, const Shape* b);

// With the last two axes swapped, where `flips`.
std::optional<Shape> flipped(const Shape* shape, bool flips);
// Input 0 (B, S, H) times a packed weight (H, Q + K + V): the result is (B, S, V).
Shape attention_shape(const InferContext& context);
// Keys and values of all positions so far: (2, B, heads, past + S, V / heads).
Shape present_shape(const InferContext& context, const Shape& result, std::size_t past_input);

}  // namespace assay::infer
