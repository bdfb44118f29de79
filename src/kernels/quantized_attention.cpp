// QAttention of com.microsoft: queries, keys and values come from one product of 8-bit numbers; the
// attention itself is computed in real numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/integer_products.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

constexpr std::size_t kMaskInput = 5;
constexpr std::size_t kPastInput = 8;

struct AttentionSizes {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t past = 0;
  std::int64_t heads = 0;
  std::int64_t head = 0;  // the width of one

  std::int64_t keys() const { return past + queries; }
  std::int64_t width() const { return heads * head; }
  Dims present_dims() const { return {2, batch, heads, keys(), head}; }
};

AttentionSizes attention_sizes(const KernelCall& call) {
  const Dims& input = call.input(0).dims();
  const Dims& weight = call.input(1).dims();
  AttentionSizes sizes;
  sizes.heads = call.node.int_or("num_heads", 0);
  const bool fits = input.size() == 3 && weight.size() == 2 && sizes.heads > 0 &&
                    weight[1] % 3 == 0 && weight[1] / 3 % sizes.heads == 0;
  if (!fits)
    call.fail("input {} and weight {} do not fit {} heads", join_dims(input), join_dims(weight),
              sizes.heads);
  if (call.node.int_or("do_rotary", 0) != 0) call.fail("rotary embeddings are not known here");
  sizes.batch = input[0];
  sizes.queries = input[1];
  sizes.head = weight[1] / 3 / sizes.heads;
  if (!call.has(kPastInput)) return sizes;
  const Dims& past = call.input(kPastInput).dims();
  if (past.size() == 5) sizes.past = past[3];
  if (past != Dims{2, sizes.batch, sizes.heads, sizes.past, sizes.head})
    call.fail("past of {} does not fit {} heads of {}", join_dims(past), sizes.heads, sizes.head);
  return sizes;
}

// What is added to a score: 0, or a number that makes it vanish.
class AttentionMask {
 public:
  AttentionMask(const KernelCall& call, const AttentionSizes& sizes)
      : sizes_(sizes),
        is_causal_(call.node.int_or("unidirectional", 0) != 0),
        filter_(static_cast<double>(call.node.float_or("mask_filter_value", -10000))) {
    if (!call.has(kMaskInput)) return;
    numbers_ = call.input(kMaskInput).to_int64();
    dims_ = call.input(kMaskInput).dims();
    if (!is_known_form())
      call.fail("a mask of {} is not known for {} samples of {} positions", join_dims(dims_),
                sizes.batch, sizes.keys());
  }

  double at(std::int64_t sample, std::int64_t query, std::int64_t key) const {
    if (is_causal_ && key > sizes_.past + query) return std::numeric_limits<float>::lowest();
    return is_open(sample, query, key) ? 0 : filter_;
  }

 private:
  bool is_known_form() const {
    const std::int64_t keys = sizes_.keys();
    if (dims_.size() == 1) return dims_[0] == sizes_.batch || dims_[0] == 2 * sizes_.batch;
    if (dims_.size() == 4)
      return dims_[0] == sizes_.batch && dims_[1] == 1 && dims_[2] == dims_[3] && dims_[3] >= keys;
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

// Keys, then values, of earlier positions and these: (2, batch, heads, keys, head).
std::vector<double> present_of(const KernelCall& call, const AttentionSizes& sizes,
                               const std::vector<double>& projected) {
  const auto past =
      sizes.past > 0 ? load_real(call, call.input(kPastInput)) : std::vector<double>{};
  std::vector<double> present(result_elements(call, sizes.present_dims()));
  for_each_index(sizes.present_dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const auto [kind, sample, head, key] = std::array{index[0], index[1], index[2], index[3]};
    const std::int64_t position = key - sizes.past;
    const std::int64_t from =
        position < 0 ? (((kind * sizes.batch + sample) * sizes.heads + head) * sizes.past + key) *
                               sizes.head +
                           index[4]
                     : ((sample * sizes.queries + position) * 3 + 1 + kind) * sizes.width() +
                           head * sizes.head + index[4];
    present[i] = position < 0 ? past[from] : projected[from];
  });
  return present;
}

// One head of one sample.
struct AttentionHead {
  const AttentionSizes& sizes;
  const double* queries = nullptr;  // 3 · width apart
  const double* keys = nullptr;
  const double* values = nullptr;
  double* results = nullptr;  // width apart
};

std::vector<double> scores_of(const AttentionHead& head, std::int64_t query, double scale) {
  const std::int64_t width = head.sizes.head;
  std::vector<double> scores(head.sizes.keys());
  for (std::int64_t key = 0; key < head.sizes.keys(); ++key) {
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i)
      sum += head.queries[query * 3 * head.sizes.width() + i] * head.keys[key * width + i];
    scores[key] = sum * scale;
  }
  return scores;
}

void attend(const AttentionHead& head, const AttentionMask& mask, std::int64_t sample,
            double scale) {
  const std::int64_t width = head.sizes.head;
  for (std::int64_t query = 0; query < head.sizes.queries; ++query) {
    std::vector<double> scores = scores_of(head, query, scale);
    for (std::int64_t key = 0; key < head.sizes.keys(); ++key)
      scores[key] += mask.at(sample, query, key);
    soften(Lane<double>{scores.data(), head.sizes.keys(), 1});
    for (std::int64_t key = 0; key < head.sizes.keys(); ++key) {
      for (std::int64_t i = 0; i < width; ++i)
        head.results[query * head.sizes.width() + i] += scores[key] * head.values[key * width + i];
    }
  }
}

// Inputs: input, weight, bias, their scales, a mask, their zero points, past keys and values.
std::vector<Tensor> quantized_attention(const KernelCall& call) {
  const AttentionSizes sizes = attention_sizes(call);
  ScaledProduct projected = scaled_product(
      call, {.a = 0, .a_scale = 3, .a_zero_point = 6, .b = 1, .b_scale = 4, .b_zero_point = 7});
  add_input(call, projected.values, projected.dims, 2);
  const auto present = present_of(call, sizes, projected.values);
  const AttentionMask mask(call, sizes);
  const Dims dims = {sizes.batch, sizes.queries, sizes.width()};
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t plane = sizes.keys() * sizes.head;
  const double scale = 1 / std::sqrt(static_cast<double>(sizes.head));
  for (std::int64_t i = 0; !results.empty() && i < sizes.batch * sizes.heads; ++i) {
    const std::int64_t sample = i / sizes.heads;
    const std::int64_t column = i % sizes.heads * sizes.head;
    const AttentionHead head = {
        sizes, projected.values.data() + sample * sizes.queries * 3 * sizes.width() + column,
        present.data() + i * plane, present.data() + (sizes.batch * sizes.heads + i) * plane,
        results.data() + sample * sizes.queries * sizes.width() + column};
    attend(head, mask, sample, scale);
  }
  const DataType type = call.input(3).type();
  return {store_real(type, dims, results), store_real(type, sizes.present_dims(), present)};
}

}  // namespace

void add_quantized_attention_kernels(KernelTable& table) {
  table["QAttention"] = quantized_attention;
}

}  // namespace assay::kernels
