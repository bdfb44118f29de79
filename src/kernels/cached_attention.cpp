// Attention of new tokens over all tokens so far, whose keys and values are kept in caches (domain
// assay).
#include <algorithm>
#include <cmath>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// One head of one sample; rows lie one after the other.
template <typename T>
struct AttentionHead {
  const T* query = nullptr;
  const T* keys = nullptr;
  const T* values = nullptr;
  T* result = nullptr;
};

struct AttentionSizes {
  std::size_t tokens = 0;
  std::size_t capacity = 0;
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  std::size_t position = 0;
  double scale = 1;
};

// Token i sees the tokens before it and itself.
template <typename T>
void attend(const AttentionHead<T>& head, const AttentionSizes& sizes, std::size_t token) {
  std::vector<double> shares(sizes.position + token + 1);
  for (std::size_t row = 0; row < shares.size(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < sizes.key_width; ++i)
      sum += static_cast<double>(head.query[token * sizes.key_width + i]) *
             static_cast<double>(head.keys[row * sizes.key_width + i]);
    shares[row] = sum * sizes.scale;
  }
  const double greatest = *std::ranges::max_element(shares);
  double total = 0;
  for (double& share : shares) total += share = std::exp(share - greatest);
  for (std::size_t i = 0; i < sizes.value_width; ++i) {
    double sum = 0;
    for (std::size_t row = 0; row < shares.size(); ++row)
      sum += shares[row] / total * static_cast<double>(head.values[row * sizes.value_width + i]);
    head.result[token * sizes.value_width + i] = static_cast<T>(sum);
  }
}

// The cache with the new rows of every head at `position`.
template <typename T>
std::vector<T> with_new_rows(const Tensor& cache, const Tensor& rows, std::size_t position) {
  std::vector<T> all = load<T>(cache);
  const std::vector<T> added = load<T>(rows);
  const auto width = static_cast<std::size_t>(cache.dims()[3]);
  const auto capacity = static_cast<std::size_t>(cache.dims()[2]);
  const auto tokens = static_cast<std::size_t>(rows.dims()[2]);
  const auto heads = static_cast<std::size_t>(cache.dims()[0] * cache.dims()[1]);
  for (std::size_t head = 0; head < heads; ++head)
    std::copy_n(added.begin() + static_cast<std::ptrdiff_t>(head * tokens * width), tokens * width,
                all.begin() + static_cast<std::ptrdiff_t>((head * capacity + position) * width));
  return all;
}

template <typename T>
std::vector<Tensor> attended(const KernelCall& call, const AttentionSizes& sizes) {
  const std::vector<T> query = load<T>(call.input(0));
  const std::vector<T> keys = with_new_rows<T>(call.input(3), call.input(1), sizes.position);
  const std::vector<T> values = with_new_rows<T>(call.input(4), call.input(2), sizes.position);
  std::vector<std::int64_t> dims = call.input(0).dims();
  dims[3] = call.input(2).dims()[3];
  const auto heads = static_cast<std::size_t>(dims[0] * dims[1]);
  std::vector<T> result(heads * sizes.tokens * sizes.value_width);
  for (std::size_t h = 0; h < heads; ++h) {
    const AttentionHead<T> head{query.data() + h * sizes.tokens * sizes.key_width,
                                keys.data() + h * sizes.capacity * sizes.key_width,
                                values.data() + h * sizes.capacity * sizes.value_width,
                                result.data() + h * sizes.tokens * sizes.value_width};
    for (std::size_t token = 0; token < sizes.tokens; ++token) attend(head, sizes, token);
  }
  const DataType type = call.input(0).type();
  return {store(type, std::move(dims), result), store(type, call.input(3).dims(), keys),
          store(type, call.input(4).dims(), values)};
}

void check_operands_fit(const KernelCall& call) {
  for (std::size_t i = 0; i < 5; ++i) {
    if (call.input(i).dims().size() != 4) call.fail("input {} must have four axes", i);
    if (call.input(i).type() != call.input(0).type()) call.fail("input {} is of another type", i);
  }
  if (call.input(0).dims() != call.input(1).dims()) call.fail("query and key differ in shape");
  for (const std::size_t rows : {1u, 2u}) {
    std::vector<std::int64_t> expected = call.input(rows + 2).dims();
    expected[2] = call.input(0).dims()[2];
    if (call.input(rows).dims() != expected) call.fail("input {} does not fit its cache", rows);
  }
  if (call.input(3).dims()[2] != call.input(4).dims()[2])
    call.fail("the caches of keys and values differ in length");
  if (call.input(5).elements() != 1) call.fail("position must be one number");
}

std::vector<Tensor> cached_attention(const KernelCall& call) {
  check_operands_fit(call);
  const std::int64_t position = call.input(5).to_int64().front();
  const std::int64_t tokens = call.input(0).dims()[2];
  const std::int64_t capacity = call.input(3).dims()[2];
  if (position < 0 || position > capacity - tokens)
    call.fail("position {} and {} new tokens do not fit a cache of {}", position, tokens, capacity);
  const AttentionSizes sizes{.tokens = static_cast<std::size_t>(tokens),
                             .capacity = static_cast<std::size_t>(capacity),
                             .key_width = static_cast<std::size_t>(call.input(3).dims()[3]),
                             .value_width = static_cast<std::size_t>(call.input(4).dims()[3]),
                             .position = static_cast<std::size_t>(position),
                             .scale = static_cast<double>(call.node.float_or("scale", 1))};
  if (call.input(0).type() == DataType::Float64) return attended<double>(call, sizes);
  return attended<float>(call, sizes);
}

}  // namespace

void add_cached_attention_kernels(KernelTable& table) {
  table["CachedAttention"] = cached_attention;
}

}  // namespace assay::kernels
