// Attention, MultiHeadAttention and QAttention as products, sums and a softmax. Heads are views of
// the projections, so that an engine that reads through strides moves nothing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "transform/expansion.h"

namespace assay::transform {

namespace {

struct HeadSizes {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t past = 0;
  std::int64_t keys = 0;  // with those of the past
  std::int64_t heads = 0;
  std::int64_t head = 0;        // the width of a query or key of one head
  std::int64_t value_head = 0;  // likewise of a value

  Dims scores() const { return {batch, heads, queries, keys}; }
};

// (batch, positions, heads · width) as (batch, heads, positions, width)
ValueId by_head(Expansion& to, ValueId value, std::int64_t heads) {
  const Dims from = to.dims(value);
  const std::int64_t width = from[2] / heads;
  const ValueId split = to.reshaped(value, {from[0], from[1], heads, width});
  return to.add({"Transpose", {split}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}},
                {from[0], heads, from[1], width});
}

std::vector<ValueId> split_at(Expansion& to, ValueId value, std::int64_t axis,
                              const std::vector<std::int64_t>& sizes) {
  std::vector<Dims> parts(sizes.size(), to.dims(value));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    parts[i][static_cast<std::size_t>(axis)] = sizes[i];
  return to.add_many(to.split(value, axis, sizes), parts,
                     std::vector(sizes.size(), to.element(value)));
}

// Earlier positions, then these: (batch, heads, keys, width). As `result` where that is valid.
ValueId after_past(Expansion& to, ValueId past, ValueId value, ValueId result) {
  if (!past.is_valid() && !result.is_valid()) return value;
  Piece joined = past.is_valid() ? Piece{"Concat", {past, value}, {{"axis", std::int64_t{2}}}}
                                 : Piece{"Identity", {value}};
  if (result.is_valid()) {
    to.add_as(std::move(joined), {result});
    return result;
  }
  Dims dims = to.dims(value);
  dims[2] += to.dims(past)[2];
  return to.add(std::move(joined), dims);
}

// Masks.

enum class MaskForm { None, Ends, EndsAndStarts, Keys, Pairs, Unknown };

MaskForm mask_form(const Expansion& to, ValueId mask, const HeadSizes& sizes) {
  if (!mask.is_valid()) return MaskForm::None;
  if (!is_integer(to.element(mask))) return MaskForm::Unknown;
  const Dims dims = to.dims(mask);
  if (dims == Dims{sizes.batch}) return MaskForm::Ends;
  if (dims == Dims{2 * sizes.batch}) return MaskForm::EndsAndStarts;
  if (dims == Dims{sizes.batch, sizes.keys}) return MaskForm::Keys;
  if (dims == Dims{sizes.batch, sizes.queries, sizes.keys}) return MaskForm::Pairs;
  return MaskForm::Unknown;
}

// (1, 1, 1, keys): 0, 1, 2, … and `shift` more.
ValueId key_numbers(Expansion& to, const HeadSizes& sizes, float shift) {
  std::vector<float> numbers(static_cast<std::size_t>(sizes.keys));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) + shift;
  return to.floats({1, 1, 1, sizes.keys}, numbers);
}

// 1 where a key may be seen and 0 elsewhere. Integers above 0 become 1 and all others 0 when they
// are clamped to that range: numbers of the mask, or how far a key lies from the sample's ends.
ValueId open_keys(Expansion& to, ValueId mask, MaskForm form, const HeadSizes& sizes) {
  const Dims pairs = {sizes.batch, 1, form == MaskForm::Pairs ? sizes.queries : 1, sizes.keys};
  const ValueId numbers = to.as_floats(mask);
  if (form == MaskForm::Keys || form == MaskForm::Pairs)
    return to.add(to.clip(to.reshaped(numbers, pairs), 0, 1), pairs);
  const Dims each = {sizes.batch, 1, 1, 1};
  if (form == MaskForm::Ends) {
    const ValueId ends = to.reshaped(numbers, each);
    const ValueId left = to.add({"Sub", {ends, key_numbers(to, sizes, 0)}}, pairs);
    return to.add(to.clip(left, 0, 1), pairs);
  }
  const auto bounds = split_at(to, numbers, 0, {sizes.batch, sizes.batch});
  const ValueId ends = to.reshaped(bounds[0], each);
  const ValueId starts = to.reshaped(bounds[1], each);
  const ValueId left = to.add({"Sub", {ends, key_numbers(to, sizes, 0)}}, pairs);
  const ValueId passed = to.add({"Sub", {key_numbers(to, sizes, 1), starts}}, pairs);
  return to.add({"Mul", {to.add(to.clip(left, 0, 1), pairs), to.add(to.clip(passed, 0, 1), pairs)}},
                pairs);
}

// What is added to the scores: 0, or `filter` where the mask is closed. Layers share it.
ValueId mask_addend(Expansion& to, ValueId mask, MaskForm form, const HeadSizes& sizes,
                    float filter) {
  std::string key = "mask";
  for (const double part : {static_cast<double>(mask.number), static_cast<double>(sizes.keys),
                            static_cast<double>(sizes.queries), static_cast<double>(filter)})
    key += " " + std::to_string(part);
  if (!to.shared(key).is_valid()) {
    const ValueId open = open_keys(to, mask, form, sizes);
    const Dims dims = to.dims(open);
    const ValueId closed = to.add({"Sub", {open, to.number(1)}}, dims);  // -1 or 0
    to.shared(key) = to.add({"Mul", {closed, to.number(-filter)}}, dims);
  }
  return to.shared(key);
}

// No query sees keys that come after it.
ValueId causal_addend(Expansion& to, const HeadSizes& sizes) {
  const std::string key =
      "causal " + std::to_string(sizes.queries) + " " + std::to_string(sizes.keys);
  if (to.shared(key).is_valid()) return to.shared(key);
  std::vector<float> numbers;
  for (std::int64_t query = 0; query < sizes.queries; ++query) {
    for (std::int64_t seen = 0; seen < sizes.keys; ++seen)
      numbers.push_back(seen > sizes.past + query ? std::numeric_limits<float>::lowest() : 0);
  }
  to.shared(key) = to.floats({1, 1, sizes.queries, sizes.keys}, numbers);
  return to.shared(key);
}

// The operands of softmax(scale · Q·Kᵀ + addends) · V.
struct AttentionParts {
  ValueId queries, keys, values;  // (batch, heads, positions, width)
  ValueId mask;
  ValueId addend;  // broadcasts to the scores
};

bool fits_scores(const Expansion& to, ValueId addend, const HeadSizes& sizes) {
  if (!addend.is_valid()) return true;
  const Dims dims = to.dims(addend);
  const Dims scores = sizes.scores();
  if (dims.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i) {
    if (dims[i] != scores[i] && (i > 1 || dims[i] != 1)) return false;
  }
  return true;
}

void add_attention(Expansion& to, const AttentionParts& parts, const HeadSizes& sizes) {
  const Node node = to.node();
  const float given = node.float_or("scale", 0);
  const float scale = given != 0 ? given : 1 / std::sqrt(static_cast<float>(sizes.head));
  ValueId scores = to.add({"FusedMatMul",
                           {parts.queries, parts.keys},
                           {{"transB", std::int64_t{1}}, {"alpha", scale}},
                           kMicrosoftDomain},
                          sizes.scores());
  const auto add = [&](ValueId addend) {
    scores = to.add({"Add", {scores, addend}}, sizes.scores());
  };
  if (parts.mask.is_valid()) {
    add(mask_addend(to, parts.mask, mask_form(to, parts.mask, sizes), sizes,
                    node.float_or("mask_filter_value", -10000)));
  }
  if (node.int_or("unidirectional", 0) != 0) add(causal_addend(to, sizes));
  if (parts.addend.is_valid()) add(parts.addend);
  const ValueId weights =
      to.add({"Softmax", {scores}, {{"axis", std::int64_t{3}}}}, sizes.scores());
  const ValueId results = to.add({"MatMul", {weights, parts.values}},
                                 {sizes.batch, sizes.heads, sizes.queries, sizes.value_head});
  const ValueId moved =
      to.add({"Transpose", {results}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}},
             {sizes.batch, sizes.queries, sizes.heads, sizes.value_head});
  const Dims dims = {sizes.batch, sizes.queries, sizes.heads * sizes.value_head};
  to.add_as({"Reshape", {moved, to.integers(dims)}}, {node.outputs[0]});
}

bool asks_for_more(const Node& node) {
  return node.int_or("do_rotary", 0) != 0 || node.int_or("past_present_share_buffer", 0) != 0 ||
         node.float_or("softcap", 0) != 0.0f;
}

// Attention and QAttention: queries, keys and values side by side, from one product.

struct PackedAttention {
  std::vector<std::int64_t> widths;  // of queries, keys and values
  HeadSizes sizes;
  ValueId mask, past, addend;
};

// Nothing for a form that is left as it is.
std::optional<PackedAttention> packed_attention(const Expansion& to, ValueId mask, ValueId past,
                                                ValueId addend) {
  const Node& node = to.node();
  const Dims input = to.dims(node.inputs[0]);
  const Dims weights = to.dims(node.inputs[1]);
  const std::int64_t heads = node.int_or("num_heads", 0);
  if (input.size() != 3 || weights.size() != 2 || heads <= 0 || asks_for_more(node)) return {};
  PackedAttention packed{.widths = node.ints_or("qkv_hidden_sizes", {}),
                         .sizes = {},
                         .mask = mask,
                         .past = past,
                         .addend = addend};
  auto& widths = packed.widths;
  if (widths.empty()) widths.assign(3, weights[1] / 3);
  const bool fits = widths.size() == 3 && widths[0] + widths[1] + widths[2] == weights[1] &&
                    widths[0] == widths[1] && widths[0] > 0 && widths[2] > 0 &&
                    widths[0] % heads == 0 && widths[2] % heads == 0;
  if (!fits) return {};
  packed.sizes = {.batch = input[0],
                  .queries = input[1],
                  .past = 0,
                  .keys = input[1],
                  .heads = heads,
                  .head = widths[0] / heads,
                  .value_head = widths[2] / heads};
  HeadSizes& sizes = packed.sizes;
  if (past.is_valid()) {
    const Dims dims = to.dims(past);
    if (dims.size() != 5 || sizes.head != sizes.value_head) return {};
    sizes.past = dims[3];
    sizes.keys += sizes.past;
    if (dims != Dims{2, sizes.batch, heads, sizes.past, sizes.head}) return {};
  }
  if (node.has_output(1) &&
      to.dims(node.outputs[1]) != Dims{2, sizes.batch, heads, sizes.keys, sizes.head})
    return {};
  if (mask_form(to, mask, sizes) == MaskForm::Unknown || !fits_scores(to, addend, sizes)) return {};
  return packed;
}

// Keys, then values, of all positions: (2, batch, heads, keys, width).
void add_present(Expansion& to, ValueId keys, ValueId values, ValueId present) {
  Dims dims = to.dims(present);
  dims[0] = 1;
  to.add_as(
      {"Concat", {to.reshaped(keys, dims), to.reshaped(values, dims)}, {{"axis", std::int64_t{0}}}},
      {present});
}

void add_packed_attention(Expansion& to, const PackedAttention& packed, ValueId projected) {
  const HeadSizes& sizes = packed.sizes;
  const ValueId present = to.node().has_output(1) ? to.node().outputs[1] : ValueId{};
  const auto parts = split_at(to, projected, 2, packed.widths);
  ValueId keys = by_head(to, parts[1], sizes.heads);
  ValueId values = by_head(to, parts[2], sizes.heads);
  if (packed.past.is_valid()) {
    const auto halves = split_at(to, packed.past, 0, {1, 1});
    const Dims dims = {sizes.batch, sizes.heads, sizes.past, sizes.head};
    keys = after_past(to, to.reshaped(halves[0], dims), keys, {});
    values = after_past(to, to.reshaped(halves[1], dims), values, {});
  }
  if (present.is_valid()) add_present(to, keys, values, present);
  add_attention(to,
                {.queries = by_head(to, parts[0], sizes.heads),
                 .keys = keys,
                 .values = values,
                 .mask = packed.mask,
                 .addend = packed.addend},
                sizes);
}

ValueId input_of(const Node& node, std::size_t i) {
  return node.has_input(i) ? node.inputs[i] : ValueId{};
}

Dims projected_dims(const Expansion& to, const PackedAttention& packed) {
  return {packed.sizes.batch, packed.sizes.queries, to.dims(to.node().inputs[1])[1]};
}

}  // namespace

// Inputs: input, weights, bias, mask, past, addend, length of the past in a shared buffer.
bool expand_attention(Expansion& to) {
  const Node node = to.node();
  if (node.has_input(6)) return false;
  const auto packed = packed_attention(to, input_of(node, 3), input_of(node, 4), input_of(node, 5));
  if (!packed) return false;
  const Dims dims = projected_dims(to, *packed);
  ValueId projected = to.add({"MatMul", {node.inputs[0], node.inputs[1]}}, dims);
  if (node.has_input(2)) projected = to.add({"Add", {projected, node.inputs[2]}}, dims);
  add_packed_attention(to, *packed, projected);
  return true;
}

// Inputs: input, weight, bias, their scales, mask, their zero points, past.
bool expand_quantized_attention(Expansion& to) {
  const Node node = to.node();
  if (to.constant(node.inputs[1]) == nullptr) return false;
  const auto packed = packed_attention(to, input_of(node, 5), input_of(node, 8), {});
  if (!packed) return false;
  const ValueId projected = to.add({"MatMulIntegerToFloat",
                                    {node.inputs[0], node.inputs[1], node.inputs[3], node.inputs[4],
                                     input_of(node, 6), input_of(node, 7), node.inputs[2]},
                                    {},
                                    kMicrosoftDomain},
                                   projected_dims(to, *packed));
  add_packed_attention(to, *packed, projected);
  return true;
}

namespace {

// (batch, positions, width), or (batch, heads, positions, width of one) as kept from earlier.
bool is_kept(const Expansion& to, ValueId value) {
  return to.dims(value).size() == 4;
}

std::optional<HeadSizes> separate_sizes(const Expansion& to, const Node& node) {
  const Dims query = to.dims(node.inputs[0]);
  const Dims key = to.dims(node.inputs[1]);
  const Dims value = to.dims(node.inputs[2]);
  const std::int64_t heads = node.int_or("num_heads", 0);
  if (query.size() != 3 || heads <= 0 || query[2] % heads != 0 || key.size() != value.size())
    return {};
  HeadSizes sizes{.batch = query[0], .queries = query[1], .heads = heads, .head = query[2] / heads};
  if (key.size() == 3 && value[2] % heads == 0) {
    sizes.keys = key[1];
    sizes.value_head = value[2] / heads;
    if (key != Dims{sizes.batch, sizes.keys, query[2]} || value[1] != sizes.keys ||
        value[0] != sizes.batch)
      return {};
    return sizes;
  }
  if (key.size() != 4) return {};
  sizes.keys = key[2];
  sizes.value_head = value[3];
  const bool fits = key == Dims{sizes.batch, heads, sizes.keys, sizes.head} &&
                    value == Dims{sizes.batch, heads, sizes.keys, sizes.value_head};
  return fits ? std::optional(sizes) : std::nullopt;
}

// Adds the past's positions to the sizes.
bool takes_past(const Expansion& to, const Node& node, HeadSizes& sizes) {
  if (node.has_input(6) != node.has_input(7)) return false;
  if (node.has_input(6)) {
    const Dims keys = to.dims(node.inputs[6]);
    const Dims values = to.dims(node.inputs[7]);
    if (keys.size() != 4 || is_kept(to, node.inputs[1])) return false;
    sizes.past = keys[2];
    sizes.keys += sizes.past;
    if (keys != Dims{sizes.batch, sizes.heads, sizes.past, sizes.head} ||
        values != Dims{sizes.batch, sizes.heads, sizes.past, sizes.value_head})
      return false;
  }
  const auto fits = [&](std::size_t output, std::int64_t width) {
    return !node.has_output(output) ||
           to.dims(node.outputs[output]) == Dims{sizes.batch, sizes.heads, sizes.keys, width};
  };
  return fits(1, sizes.head) && fits(2, sizes.value_head) && !node.has_output(3);
}

}  // namespace

// Inputs: query, key, value, bias of all three, mask, addend, past keys, past values, and what only
// decoding with shared buffers gives.
bool expand_multi_head_attention(Expansion& to) {
  const Node node = to.node();
  if (!node.has_input(1) || !node.has_input(2) || node.has_input(8) || node.has_input(9) ||
      asks_for_more(node))
    return false;
  auto sizes = separate_sizes(to, node);
  if (!sizes || !takes_past(to, node, *sizes)) return false;
  if (node.has_input(3) && is_kept(to, node.inputs[1])) return false;
  if (mask_form(to, input_of(node, 4), *sizes) == MaskForm::Unknown ||
      !fits_scores(to, input_of(node, 5), *sizes))
    return false;
  std::vector<ValueId> parts(node.inputs.begin(), node.inputs.begin() + 3);
  if (node.has_input(3)) {
    const std::int64_t width = sizes->heads * sizes->head;
    const auto biases =
        split_at(to, node.inputs[3], 0, {width, width, sizes->heads * sizes->value_head});
    for (std::size_t i = 0; i < 3; ++i)
      parts[i] = to.add({"Add", {parts[i], biases[i]}}, to.dims(parts[i]));
  }
  for (ValueId& part : parts) {
    if (!is_kept(to, part)) part = by_head(to, part, sizes->heads);
  }
  const auto output_of = [&](std::size_t i) {
    return node.has_output(i) ? node.outputs[i] : ValueId{};
  };
  parts[1] = after_past(to, input_of(node, 6), parts[1], output_of(1));
  parts[2] = after_past(to, input_of(node, 7), parts[2], output_of(2));
  add_attention(to,
                {.queries = parts[0],
                 .keys = parts[1],
                 .values = parts[2],
                 .mask = input_of(node, 4),
                 .addend = input_of(node, 5)},
                *sizes);
  return true;
}

}  // namespace assay::transform
