// A language model of two layers and 61 tokens, without and with past keys and values.
#pragma once

#include <string>
#include <vector>

#include "assay/builder.h"
#include "zoo/transformer.h"

namespace assay {

constexpr std::int64_t kModelWidth = 32;
constexpr std::int64_t kModelHeads = 4;
constexpr std::int64_t kModelVocabulary = 61;
constexpr std::int64_t kModelContext = 24;

inline zoo::AttentionOptions options_of(const std::string& name, ValueId mask) {
  return {.width = kModelWidth, .heads = kModelHeads, .name = name, .mask = mask};
}

inline ValueId mask_constant(GraphBuilder& builder) {
  std::vector<std::uint8_t> mask;
  for (std::int64_t row = 0; row < kModelContext; ++row) {
    for (std::int64_t column = 0; column < kModelContext; ++column)
      mask.push_back(column <= row ? 1 : 0);
  }
  return builder.constant(
      "causal", Tensor::of<std::uint8_t>(DataType::Bool, {kModelContext, kModelContext}, mask));
}

inline ValueId cut(GraphBuilder& builder, const std::string& name, ValueId value, ValueId first_row,
                   ValueId last_row, ValueId last_column) {
  const auto pair = [&](const std::string& which, ValueId a, ValueId b) {
    return builder.node("Concat", name + which, {a, b}, {{"axis", std::int64_t{0}}});
  };
  const ValueId zero = builder.ints(name + ".zero", {0});
  return builder.node("Slice", name,
                      {value, pair(".starts", first_row, zero),
                       pair(".ends", last_row, last_column), builder.ints(name + ".axes", {0, 1})});
}

inline ValueId head(GraphBuilder& builder, ValueId tokens, ValueId table) {
  const ValueId turned =
      builder.node("Transpose", "turned", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  return builder.node("MatMul", "head", {tokens, turned});
}

// Two layers of attention with learned positions; names and so weights are those of the other.
inline Graph plain_decoder() {
  GraphBuilder builder("plain");
  const ValueId ids = builder.input("input_ids", DataType::Int64, Shape{1, 4});
  const ValueId length = builder.node("Shape", "length", {ids},
                                      {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
  const ValueId table = builder.weight("table", {kModelVocabulary, kModelWidth}, 0.5);
  const ValueId places = builder.weight("places", {kModelContext, kModelWidth}, 0.5);
  const ValueId zero = builder.ints("zero", {0});
  const ValueId mask = cut(builder, "mask", mask_constant(builder), zero, length, length);
  const ValueId place =
      builder.node("Slice", "place", {places, zero, length, builder.ints("place.axes", {0})});
  ValueId tokens =
      builder.node("Add", "embedded", {builder.node("Gather", "found", {table, ids}), place});
  builder.set_rank(tokens, 3);
  for (const char* name : {"a", "b"})
    tokens = zoo::residual(builder, std::string(name) + ".add", tokens,
                           zoo::self_attention(builder, tokens, options_of(name, mask)));
  builder.output(head(builder, tokens, table), "logits");
  return builder.finish();
}

enum class Mask { Causal, None };

inline Graph cached_decoder(Mask kind = Mask::Causal) {
  GraphBuilder builder("cached");
  const ValueId ids = builder.input("input_ids", DataType::Int64, Shape{1, 1});
  std::vector<zoo::KeysAndValues> past;
  const Shape shape{1, kModelHeads, Dim::symbol("past"), kModelWidth / kModelHeads};
  for (const char* layer : {"0", "1"}) {
    const std::string name = std::string("past_key_values.") + layer;
    past.push_back({builder.input(name + ".key", DataType::Float32, shape),
                    builder.input(name + ".value", DataType::Float32, shape)});
  }
  const auto axis = [&](const std::string& name, ValueId value, std::int64_t which) {
    return builder.node("Shape", name, {value}, {{"start", which}, {"end", which + 1}});
  };
  const ValueId length = axis("length", ids, 1);
  const ValueId before = axis("before", past[0].keys, 2);
  const ValueId all = builder.node("Add", "all", {before, length});
  const ValueId table = builder.weight("table", {kModelVocabulary, kModelWidth}, 0.5);
  const ValueId places = builder.weight("places", {kModelContext, kModelWidth}, 0.5);
  const ValueId first = kind == Mask::Causal ? before : builder.ints("first", {0});
  const ValueId mask =
      cut(builder, "mask", mask_constant(builder), first, kind == Mask::Causal ? all : length, all);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < kModelContext; ++i) numbers.push_back(i);
  const ValueId steps = builder.node("Slice", "steps",
                                     {builder.ints("numbers", numbers), builder.ints("zero", {0}),
                                      length, builder.ints("steps.axes", {0})});
  const ValueId place =
      builder.node("Gather", "place", {places, builder.node("Add", "at", {steps, before})});
  ValueId tokens =
      builder.node("Add", "embedded", {builder.node("Gather", "found", {table, ids}), place});
  builder.set_rank(tokens, 3);
  std::vector<zoo::KeysAndValues> present;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "a" : "b";
    const auto looked = zoo::attention_over_past(builder, tokens, past[i], options_of(name, mask));
    present.push_back(looked.present);
    tokens = zoo::residual(builder, name + ".add", tokens, looked.result);
  }
  builder.output(head(builder, tokens, table), "logits");
  for (std::size_t i = 0; i < 2; ++i) {
    builder.output(present[i].keys, "present." + std::to_string(i) + ".key");
    builder.output(present[i].values, "present." + std::to_string(i) + ".value");
  }
  return builder.finish();
}

}  // namespace assay
