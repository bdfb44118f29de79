#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/product.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// What is added to a score: 0, or a number that makes it vanish.
class AttentionMask {
 public:
  AttentionMask(const KernelCall& call, const AttentionSizes& sizes, std::size_t input)
      : sizes_(sizes),
        is_causal_(call.node.int_or("unidirectional", 0) != 0),
        filter_(static_cast<double>(call.node.float_or("mask_filter_value", -10000))) {
    if (!call.has(input)) return;
    numbers_ = call.input(input).to_int64();
    dims_ = call.input(input).dims();
    if (!is_known_form())
      call.fail("a mask of {} is not known for {} samples of {} positions", join_dims(dims_),
                sizes.batch, sizes.keys);
  }

  double at(std::int64_t sample, std::int64_t query, std::int64_t key) const {
    if (is_causal_ && key > sizes_.past + query) return std::numeric_limits<float>::lowest();
    return is_open(sample, query, key) ? 0 : filter_;
  }

 private:
  bool is_known_form() const {
    const std::int64_t keys = sizes_.keys;
    if (dims_.size() == 1) return dims_[0] == sizes_.batch || dims_[0] == 2 * sizes_.batch;
    if (dims_.size() == 4)
      return dims_[0] == sizes_.batch && dims_[1] == 1 && dims_[2] == dims_[3] &&
             dims_[3] >= keys && dims_[2] >= sizes_.past + sizes_.queries;
    return dims_ == Dims{sizes_.batch, keys} || dims_ == Dims{sizes_.batch, sizes_.queries, keys};
  }

  // Ends of the samples, perhaps followed by their starts; or one number for each key, for each
  // query and key, or for each pair of positions.
  bool is_open(std::int64_t sample, std::int64_t query, std::int64_t key) const {
    switch (dims_.size()) {
      case 1: {
        const bool has_starts = dims_[0] == 2 * sizes_.batch;
        return key < numbers_[sample] && (!has_starts || key >= numbers_[sizes_.batch + sample]);
      }
      case 2:
        return numbers_[sample * dims_[1] + key] > 0;
      case 3:
        return numbers_[(sample * dims_[1] + query) * dims_[2] + key] > 0;
      case 4:
        return numbers_[(sample * dims_[2] + sizes_.past + query) * dims_[3] + key] > 0;
      default:
        return true;
    }
  }

  AttentionSizes sizes_;
  bool is_causal_ = false;
  double filter_ = 0;
  std::vector<std::int64_t> numbers_;
  Dims dims_;
};

// One number for each score; broadcast along samples and heads.
class ScoreAddend {
 public:
  ScoreAddend(const KernelCall& call, const AttentionSizes& sizes,
              std::optional<std::size_t> input) {
    if (!input || !call.has(*input)) return;
    dims_ = call.input(*input).dims();
    const bool fits = dims_.size() == 4 && (dims_[0] == sizes.batch || dims_[0] == 1) &&
                      (dims_[1] == sizes.heads || dims_[1] == 1) && dims_[2] == sizes.queries &&
                      dims_[3] == sizes.keys;
    if (!fits) call.fail("an attention bias of {} does not fit the scores", join_dims(dims_));
    numbers_ = load_real(call, call.input(*input));
  }

  double at(std::int64_t sample, std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (dims_.empty()) return 0;
    const std::int64_t plane = (dims_[0] == 1 ? 0 : sample) * dims_[1] + (dims_[1] == 1 ? 0 : head);
    return numbers_[(plane * dims_[2] + query) * dims_[3] + key];
  }

 private:
  Dims dims_;
  std::vector<double> numbers_;
};

double score_scale(const KernelCall& call, const AttentionSizes& sizes) {
  const float given = call.node.float_or("scale", 0);
  return given != 0 ? static_cast<double>(given) : 1 / std::sqrt(static_cast<double>(sizes.head));
}

}  // namespace

std::vector<double> attended(const KernelCall& call, const AttentionSizes& sizes,
                             const HeadValues& heads, const AttentionAddends& addends) {
  const AttentionMask mask(call, sizes, addends.mask);
  const ScoreAddend addend(call, sizes, addends.addend);
  const double scale = score_scale(call, sizes);
  std::vector<double> results(result_elements(call, sizes.result_dims()));
  std::vector<double> scores(sizes.keys);
  for (std::int64_t i = 0; !results.empty() && i < sizes.batch * sizes.heads * sizes.queries; ++i) {
    const std::int64_t query = i % sizes.queries;
    const std::int64_t plane = i / sizes.queries;
    const std::int64_t sample = plane / sizes.heads;
    const std::int64_t head = plane % sizes.heads;
    for (std::int64_t key = 0; key < sizes.keys; ++key) {
      const double product =
          dot(heads.queries.data() + i * sizes.head,
              heads.keys.data() + (plane * sizes.keys + key) * sizes.head, sizes.head);
      scores[key] =
          product * scale + mask.at(sample, query, key) + addend.at(sample, head, query, key);
    }
    soften(Lane<double>{scores.data(), sizes.keys, 1});
    double* to =
        results.data() + ((sample * sizes.queries + query) * sizes.heads + head) * sizes.value_head;
    for (std::int64_t key = 0; key < sizes.keys; ++key) {
      const double* value = heads.values.data() + (plane * sizes.keys + key) * sizes.value_head;
      for (std::int64_t c = 0; c < sizes.value_head; ++c) to[c] += scores[key] * value[c];
    }
  }
  return results;
}

namespace {

// A part of rows of `stride` numbers: `width` for each head, from `first` on.
struct HeadColumns {
  std::int64_t first = 0;
  std::int64_t stride = 0;
  std::int64_t width = 0;
};

// (batch, positions, columns) as (batch, heads, past + positions, width); the past is zero.
std::vector<double> by_head(const AttentionSizes& sizes, std::int64_t positions, std::int64_t past,
                            const HeadColumns& columns, const std::vector<double>& from) {
  std::vector<double> to(sizes.batch * sizes.heads * (past + positions) * columns.width);
  const Dims dims = {sizes.batch, sizes.heads, positions, columns.width};
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t) {
    const std::int64_t plane = index[0] * sizes.heads + index[1];
    to[(plane * (past + positions) + past + index[2]) * columns.width + index[3]] =
        from[(index[0] * positions + index[2]) * columns.stride + columns.first +
             index[1] * columns.width + index[3]];
  });
  return to;
}

// Writes earlier positions, (batch, heads, past, width), where `by_head` left zeros.
void put_past(const AttentionSizes& sizes, std::int64_t width, const double* past,
              std::vector<double>& to) {
  const std::int64_t block = sizes.past * width;
  for (std::int64_t plane = 0; plane < sizes.batch * sizes.heads; ++plane)
    std::copy_n(past + plane * block, block, to.begin() + plane * sizes.keys * width);
}

void refuse_what_is_not_known(const KernelCall& call) {
  if (call.node.int_or("do_rotary", 0) != 0) call.fail("rotary embeddings are not known here");
  if (call.node.int_or("past_present_share_buffer", 0) != 0)
    call.fail("a past that shares its buffer with the present is not known here");
}

AttentionSizes packed_sizes(const KernelCall& call, std::size_t past_input) {
  const Dims& input = call.input(0).dims();
  const Dims& weight = call.input(1).dims();
  AttentionSizes sizes;
  sizes.heads = call.node.int_or("num_heads", 0);
  if (input.size() != 3 || weight.size() != 2 || sizes.heads <= 0)
    call.fail("input {} and weight {} do not fit {} heads", join_dims(input), join_dims(weight),
              sizes.heads);
  Dims widths = call.node.ints_or("qkv_hidden_sizes", {});
  if (widths.empty() && weight[1] % 3 == 0) widths.assign(3, weight[1] / 3);
  const bool fits = widths.size() == 3 && widths[0] == widths[1] && widths[0] > 0 &&
                    widths[2] > 0 && widths[0] % sizes.heads == 0 && widths[2] % sizes.heads == 0 &&
                    widths[0] + widths[1] + widths[2] == weight[1];
  if (!fits)
    call.fail("input {} and weight {} do not fit {} heads", join_dims(input), join_dims(weight),
              sizes.heads);
  sizes.batch = input[0];
  sizes.queries = input[1];
  sizes.keys = input[1];
  sizes.head = widths[0] / sizes.heads;
  sizes.value_head = widths[2] / sizes.heads;
  if (!call.has(past_input)) return sizes;
  const Dims& past = call.input(past_input).dims();
  if (past.size() == 5) sizes.past = past[3];
  sizes.keys += sizes.past;
  const bool past_fits = past == Dims{2, sizes.batch, sizes.heads, sizes.past, sizes.head} &&
                         sizes.head == sizes.value_head;
  if (!past_fits)
    call.fail("past of {} does not fit {} heads of {}", join_dims(past), sizes.heads, sizes.head);
  return sizes;
}

}  // namespace

std::vector<Tensor> packed_attention(const KernelCall& call, const PackedInputs& inputs,
                                     const std::vector<double>& projected, DataType type) {
  refuse_what_is_not_known(call);
  const AttentionSizes sizes = packed_sizes(call, inputs.past);
  const std::int64_t wide = sizes.heads * sizes.head;
  const std::int64_t stride = 2 * wide + sizes.heads * sizes.value_head;
  HeadValues heads{
      .queries = by_head(sizes, sizes.queries, 0, {0, stride, sizes.head}, projected),
      .keys = by_head(sizes, sizes.queries, sizes.past, {wide, stride, sizes.head}, projected),
      .values = by_head(sizes, sizes.queries, sizes.past, {2 * wide, stride, sizes.value_head},
                        projected)};
  if (sizes.past > 0) {
    const auto past = load_real(call, call.input(inputs.past));
    put_past(sizes, sizes.head, past.data(), heads.keys);
    put_past(sizes, sizes.head, past.data() + past.size() / 2, heads.values);
  }
  const auto results = attended(call, sizes, heads, inputs.addends);
  std::vector<Tensor> outputs = {store_real(type, sizes.result_dims(), results)};
  if (sizes.head != sizes.value_head) return outputs;
  std::vector<double> present = heads.keys;
  present.insert(present.end(), heads.values.begin(), heads.values.end());
  outputs.push_back(
      store_real(type, {2, sizes.batch, sizes.heads, sizes.keys, sizes.head}, present));
  return outputs;
}

namespace {

// Inputs: input, weights, bias, mask, past, what is added to the scores.
std::vector<Tensor> attention(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const BatchedProduct product(call, input.dims(), call.input(1).dims(), {});
  auto projected = product.multiplied(load_real(call, input), load_real(call, call.input(1)));
  add_input(call, projected, product.result_dims(), 2);
  return packed_attention(call, {.past = 4, .addends = {.mask = 3, .addend = 5}}, projected,
                          input.type());
}

// A query, key or value with its part of the bias: numbers `first`, … of input 3.
std::vector<double> biased_operand(const KernelCall& call, std::size_t input, std::int64_t first) {
  auto numbers = load_real(call, call.input(input));
  if (!call.has(3)) return numbers;
  const auto bias = load_real(call, call.input(3));
  const auto width = static_cast<std::size_t>(call.input(input).dims().back());
  const auto from = static_cast<std::size_t>(first);
  if (from + width > bias.size()) call.fail("the bias has only {} numbers", bias.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += bias[from + i % width];
  return numbers;
}

AttentionSizes separate_sizes(const KernelCall& call) {
  AttentionSizes sizes;
  sizes.heads = call.node.int_or("num_heads", 0);
  if (!call.has(1) || !call.has(2)) call.fail("packed queries, keys and values are not known here");
  const Dims& query = call.input(0).dims();
  const Dims& key = call.input(1).dims();
  const Dims& value = call.input(2).dims();
  const bool fits = sizes.heads > 0 && query.size() == 3 && key.size() == 3 && value.size() == 3 &&
                    query[2] == key[2] && query[2] % sizes.heads == 0 &&
                    value[2] % sizes.heads == 0 && query[0] == key[0] && query[0] == value[0] &&
                    key[1] == value[1];
  if (!fits)
    call.fail("query {}, key {} and value {} do not fit {} heads", join_dims(query), join_dims(key),
              join_dims(value), sizes.heads);
  sizes.batch = query[0];
  sizes.queries = query[1];
  sizes.keys = key[1];
  sizes.head = query[2] / sizes.heads;
  sizes.value_head = value[2] / sizes.heads;
  if (!call.has(6)) return sizes;
  if (!call.has(7)) call.fail("past keys need past values");
  const Dims& past = call.input(6).dims();
  if (past.size() == 4) sizes.past = past[2];
  sizes.keys += sizes.past;
  if (past != Dims{sizes.batch, sizes.heads, sizes.past, sizes.head} ||
      call.input(7).dims() != Dims{sizes.batch, sizes.heads, sizes.past, sizes.value_head})
    call.fail("past of {} does not fit {} heads of {}", join_dims(past), sizes.heads, sizes.head);
  return sizes;
}

// Inputs: query, key, value, bias of all three, mask, what is added to the scores, past keys, past
// values.
std::vector<Tensor> multi_head_attention(const KernelCall& call) {
  refuse_what_is_not_known(call);
  const AttentionSizes sizes = separate_sizes(call);
  const std::int64_t wide = sizes.heads * sizes.head;
  const std::int64_t value_wide = sizes.heads * sizes.value_head;
  const std::int64_t now = sizes.keys - sizes.past;
  HeadValues heads{
      .queries =
          by_head(sizes, sizes.queries, 0, {0, wide, sizes.head}, biased_operand(call, 0, 0)),
      .keys = by_head(sizes, now, sizes.past, {0, wide, sizes.head}, biased_operand(call, 1, wide)),
      .values = by_head(sizes, now, sizes.past, {0, value_wide, sizes.value_head},
                        biased_operand(call, 2, 2 * wide))};
  if (sizes.past > 0) {
    put_past(sizes, sizes.head, load_real(call, call.input(6)).data(), heads.keys);
    put_past(sizes, sizes.value_head, load_real(call, call.input(7)).data(), heads.values);
  }
  const DataType type = call.input(0).type();
  const auto results = attended(call, sizes, heads, {.mask = 4, .addend = 5});
  return {store_real(type, sizes.result_dims(), results),
          store_real(type, {sizes.batch, sizes.heads, sizes.keys, sizes.head}, heads.keys),
          store_real(type, {sizes.batch, sizes.heads, sizes.keys, sizes.value_head}, heads.values)};
}

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table["Attention"] = attention;
  table["MultiHeadAttention"] = multi_head_attention;
}

}  // namespace assay::kernels
