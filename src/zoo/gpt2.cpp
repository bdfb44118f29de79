// GPT-2 small (Radford et al., 2019): 12 layers that read token ids and score every next token. The
// token embedding is also the head, stored once. Works for any batch and any length up to 1024. Its
// decoding form also takes the keys and values of earlier tokens, and gives those of all tokens.
#include <cstddef>

#include "zoo/family.h"
#include "zoo/transformer.h"

namespace assay::zoo {

namespace {

constexpr std::int64_t kWidth = 768;
constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kLayers = 12;
constexpr std::int64_t kMostLayers = 48;
constexpr std::int64_t kVocabulary = 50257;
constexpr std::int64_t kContext = 1024;

// Standard deviations of 0.02 and 0.01, as published with the model.
constexpr double kTokenBound = 0.0346;
constexpr double kPositionBound = 0.0173;

void fill_lower_triangle(std::span<std::byte> bytes) {
  const auto side = static_cast<std::size_t>(kContext);
  for (std::size_t row = 0; row < side; ++row) {
    for (std::size_t column = 0; column < side; ++column) {
      bytes[row * side + column] = std::byte{column <= row};
    }
  }
}

ValueId causal_mask(GraphBuilder& builder) {
  const auto size = static_cast<std::size_t>(kContext * kContext);
  return builder.constant("causal_mask", Tensor(DataType::Bool, {1, 1, kContext, kContext},
                                                generated_storage(size, fill_lower_triangle)));
}

// The first `length` entries of `value` along every one of `axes`.
ValueId leading(GraphBuilder& builder, const std::string& name, ValueId value, ValueId length,
                const std::vector<std::int64_t>& axes) {
  const ValueId starts = builder.ints(name + ".starts", std::vector<std::int64_t>(axes.size(), 0));
  const ValueId ends = axes.size() == 1 ? length
                                        : builder.node("Concat", name + ".ends",
                                                       std::vector<ValueId>(axes.size(), length),
                                                       {{"axis", std::int64_t{0}}});
  return builder.node("Slice", name, {value, starts, ends, builder.ints(name + ".axes", axes)});
}

AttentionOptions attention_options(const std::string& name, ValueId mask) {
  return {.width = kWidth,
          .heads = kHeads,
          .name = name + ".attn",
          .input_projection = "c_attn",
          .output_projection = "c_proj",
          .mask = mask};
}

ValueId append_feed_forward(GraphBuilder& builder, ValueId tokens, const std::string& name) {
  const Layer think = Sequential(
      {LayerNorm(kWidth, name + ".ln_2"), Linear(kWidth, 4 * kWidth, {.name = name + ".mlp.c_fc"}),
       GeluTanh(name + ".mlp.act"), Linear(4 * kWidth, kWidth, {.name = name + ".mlp.c_proj"})});
  return residual(builder, name + ".add_2", tokens, think(builder, tokens));
}

ValueId append_layer(GraphBuilder& builder, ValueId tokens, ValueId mask, const std::string& name) {
  const ValueId looked = self_attention(builder, LayerNorm(kWidth, name + ".ln_1")(builder, tokens),
                                        attention_options(name, mask));
  const ValueId attended = residual(builder, name + ".add_1", tokens, looked);
  return append_feed_forward(builder, attended, name);
}

// The transposed embedding matrix scores the vocabulary.
ValueId tied_head(GraphBuilder& builder, ValueId tokens, ValueId embedding) {
  const ValueId weight = builder.node("Transpose", "lm_head.weight", {embedding},
                                      {{"perm", std::vector<std::int64_t>{1, 0}}});
  return builder.node("MatMul", "lm_head", {tokens, weight});
}

ValueId last_token(GraphBuilder& builder, ValueId tokens) {
  return builder.node("Gather", "last_token", {tokens, builder.ints("last_token.index", {-1})},
                      {{"axis", std::int64_t{1}}});
}

// Which axes of the mask are cut where: queries from `past` to `all`, keys from 0 to `all`.
ValueId mask_behind(GraphBuilder& builder, ValueId past, ValueId all) {
  const ValueId zero = builder.ints("mask.zero", {0});
  const auto pair = [&](const std::string& name, ValueId first, ValueId second) {
    return builder.node("Concat", name, {first, second}, {{"axis", std::int64_t{0}}});
  };
  return builder.node("Slice", "mask",
                      {causal_mask(builder), pair("mask.starts", past, zero),
                       pair("mask.ends", all, all), builder.ints("mask.axes", {2, 3})});
}

KeysAndValues past_of_layer(GraphBuilder& builder, const ZooSettings& settings, int layer) {
  const std::string name = "past_key_values." + std::to_string(layer);
  const Shape shape{settings.at("batch"), kHeads, settings.at("past"), kWidth / kHeads};
  return {builder.input(name + ".key", DataType::Float32, shape),
          builder.input(name + ".value", DataType::Float32, shape)};
}

// One axis of a tensor's shape.
ValueId axis_length(GraphBuilder& builder, const std::string& name, ValueId value,
                    std::int64_t axis) {
  return builder.node("Shape", name, {value}, {{"start", axis}, {"end", axis + 1}});
}

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

Graph build_gpt2_small_decode(const ZooSettings& settings) {
  GraphBuilder builder("gpt2_small_decode");
  const ValueId ids = builder.input("input_ids", DataType::Int64,
                                    Shape{settings.at("batch"), settings.at("length")});
  std::vector<KeysAndValues> past;
  for (int i = 0; i < settings.at("layers"); ++i)
    past.push_back(past_of_layer(builder, settings, i));
  const ValueId length = axis_length(builder, "length", ids, 1);
  const ValueId past_length = axis_length(builder, "past_length", past.front().keys, 2);
  const ValueId all = builder.node("Add", "all_length", {past_length, length});
  const ValueId embedding = builder.weight("wte.weight", {kVocabulary, kWidth}, kTokenBound);
  const ValueId positions = builder.weight("wpe.weight", {kContext, kWidth}, kPositionBound);
  const ValueId mask = mask_behind(builder, past_length, all);
  const ValueId steps =
      leading(builder, "steps", builder.ints("steps.all", first_numbers(kContext)), length, {0});
  const ValueId position = builder.node("Add", "position", {steps, past_length});

  ValueId tokens = residual(builder, "embedded", builder.node("Gather", "wte", {embedding, ids}),
                            builder.node("Gather", "wpe", {positions, position}));
  std::vector<KeysAndValues> present;
  for (int i = 0; i < settings.at("layers"); ++i) {
    const std::string name = "h." + std::to_string(i);
    const AttentionOverPast looked =
        attention_over_past(builder, LayerNorm(kWidth, name + ".ln_1")(builder, tokens),
                            past[static_cast<std::size_t>(i)], attention_options(name, mask));
    present.push_back(looked.present);
    tokens = residual(builder, name + ".add_1", tokens, looked.result);
    tokens = append_feed_forward(builder, tokens, name);
  }
  tokens = last_token(builder, LayerNorm(kWidth, "ln_f")(builder, tokens));
  builder.output(tied_head(builder, tokens, embedding), "logits");
  for (std::size_t i = 0; i < present.size(); ++i) {
    builder.output(present[i].keys, "present." + std::to_string(i) + ".key");
    builder.output(present[i].values, "present." + std::to_string(i) + ".value");
  }
  return builder.finish();
}

Graph build_gpt2_small(const ZooSettings& settings) {
  GraphBuilder builder("gpt2_small");
  const ValueId ids = builder.input("input_ids", DataType::Int64,
                                    Shape{settings.at("batch"), settings.at("length")});
  const ValueId length = builder.node("Shape", "length", {ids},
                                      {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  const ValueId embedding = builder.weight("wte.weight", {kVocabulary, kWidth}, kTokenBound);
  const ValueId positions = builder.weight("wpe.weight", {kContext, kWidth}, kPositionBound);
  const ValueId mask = leading(builder, "mask", causal_mask(builder), length, {2, 3});

  ValueId tokens = residual(builder, "embedded", builder.node("Gather", "wte", {embedding, ids}),
                            leading(builder, "wpe", positions, length, {0}));
  for (int i = 0; i < settings.at("layers"); ++i) {
    tokens = append_layer(builder, tokens, mask, "h." + std::to_string(i));
  }
  tokens = LayerNorm(kWidth, "ln_f")(builder, tokens);
  if (settings.at("last_only") == 1) tokens = last_token(builder, tokens);
  builder.output(tied_head(builder, tokens, embedding), "logits");
  return builder.finish();
}

}  // namespace

std::vector<ZooFamily> gpt2_family() {
  return {
      {.entry = {.name = "gpt2_small",
                 .summary = "GPT-2 small language model, token ids to logits",
                 .parameters = {batch_parameter(),
                                size_parameter("length", 128, kContext, "tokens in a sample"),
                                size_parameter("layers", kLayers, kMostLayers, "of attention"),
                                {.name = "last_only",
                                 .standard = 0,
                                 .smallest = 0,
                                 .largest = 1,
                                 .meaning = "1: logits of the last token only"}}},
       .build = build_gpt2_small},
      {.entry = {.name = "gpt2_small_decode",
                 .summary = "GPT-2 small with the keys and values of earlier tokens",
                 .parameters = {batch_parameter(),
                                size_parameter("length", 1, 64, "new tokens in a sample"),
                                size_parameter("past", 128, kContext - 64, "earlier tokens"),
                                size_parameter("layers", kLayers, kMostLayers, "of attention")}},
       .build = build_gpt2_small_decode}};
}

}  // namespace assay::zoo
