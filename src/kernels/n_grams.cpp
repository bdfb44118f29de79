// TfIdfVectorizer: counts how often n-grams of a pool occur in rows of words or numbers.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Several n-grams may share a column of the result; each has a weight of its own.
struct GramPlace {
  std::size_t column = 0;
  float weight = 1;
};

template <typename Item>
struct Pool {
  std::map<std::vector<Item>, GramPlace> grams;
  std::size_t columns = 0;
};

std::vector<float> weights_of(const KernelCall& call, std::size_t count) {
  const auto* weights = call.node.get<std::vector<float>>("weights");
  if (weights == nullptr) return std::vector<float>(count, 1.0f);
  if (weights->size() != count)
    call.fail("weights has {} numbers for {} n-grams", weights->size(), count);
  return *weights;
}

// `starts[n - 1]` is where the n-grams begin among the items of the pool.
template <typename Item>
Pool<Item> pool_of(const KernelCall& call, const std::vector<Item>& items) {
  const Dims starts = call.node.ints_or("ngram_counts", {});
  const Dims columns = call.node.ints_or("ngram_indexes", {});
  const auto weights = weights_of(call, columns.size());
  Pool<Item> pool;
  std::size_t gram = 0;
  for (std::size_t n = 1; n <= starts.size(); ++n) {
    const std::int64_t end =
        n < starts.size() ? starts[n] : static_cast<std::int64_t>(items.size());
    const bool is_inside = 0 <= starts[n - 1] && starts[n - 1] <= end &&
                           end <= static_cast<std::int64_t>(items.size());
    const bool fits = is_inside && static_cast<std::size_t>(end - starts[n - 1]) % n == 0;
    if (!fits) call.fail("ngram_counts {} do not fit the pool", join_dims(starts));
    for (std::int64_t at = starts[n - 1]; at < end; at += static_cast<std::int64_t>(n), ++gram) {
      if (gram >= columns.size() || columns[gram] < 0)
        call.fail("ngram_indexes do not fit the pool");
      const auto first = items.begin() + at;
      pool.grams.emplace(std::vector<Item>(first, first + static_cast<std::ptrdiff_t>(n)),
                         GramPlace{static_cast<std::size_t>(columns[gram]), weights[gram]});
    }
  }
  if (!columns.empty()) pool.columns = static_cast<std::size_t>(std::ranges::max(columns)) + 1;
  return pool;
}

struct GramSettings {
  std::int64_t shortest = 1;
  std::int64_t longest = 1;
  std::int64_t most_skipped = 0;
  bool counts = true;  // how often, not only whether
  bool weighs = false;
};

GramSettings gram_settings(const KernelCall& call) {
  const std::string mode = call.node.string_or("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") call.fail("mode '{}' is not known", mode);
  const GramSettings settings{call.node.int_or("min_gram_length", 1),
                              call.node.int_or("max_gram_length", 1),
                              call.node.int_or("max_skip_count", 0), mode != "IDF", mode != "TF"};
  if (settings.shortest < 1 || settings.longest < settings.shortest || settings.most_skipped < 0)
    call.fail("n-grams of {} to {} items that skip {} are impossible", settings.shortest,
              settings.longest, settings.most_skipped);
  return settings;
}

// Calls `visit` with every n-gram of the row: its items stand `skipped` items apart.
template <typename Item, typename Visit>
void for_each_gram(std::span<const Item> row, const GramSettings& settings, Visit visit) {
  const auto size = static_cast<std::int64_t>(row.size());
  for (std::int64_t n = settings.shortest; n <= std::min(settings.longest, size); ++n) {
    const std::int64_t most = n == 1 ? 0 : std::min(settings.most_skipped, size);
    for (std::int64_t skipped = 0; skipped <= most; ++skipped) {
      const std::int64_t reach = (n - 1) * (skipped + 1);
      for (std::int64_t start = 0; start + reach < size; ++start) {
        std::vector<Item> gram;
        for (std::int64_t k = 0; k < n; ++k) {
          gram.push_back(row[static_cast<std::size_t>(start + k * (skipped + 1))]);
        }
        visit(gram);
      }
    }
  }
}

template <typename Item>
void count_row(std::span<const Item> row, const Pool<Item>& pool, const GramSettings& settings,
               std::span<float> result) {
  for_each_gram(row, settings, [&](const std::vector<Item>& gram) {
    const auto found = pool.grams.find(gram);
    if (found == pool.grams.end()) return;
    const float step = settings.weighs ? found->second.weight : 1.0f;
    float& place = result[found->second.column];
    place = settings.counts ? place + step : step;
  });
}

template <typename Item>
std::vector<Tensor> vectorized(const KernelCall& call, const std::vector<Item>& items,
                               const std::vector<Item>& pool_items) {
  const Dims& dims = call.input(0).dims();
  if (dims.empty() || dims.size() > 2) call.fail("needs one or two axes, got {}", dims.size());
  const Pool<Item> pool = pool_of(call, pool_items);
  const GramSettings settings = gram_settings(call);
  const auto length = static_cast<std::size_t>(dims.back());
  Dims result_dims = dims;
  result_dims.back() = static_cast<std::int64_t>(pool.columns);
  std::vector<float> counts(result_elements(call, result_dims), 0.0f);
  const std::size_t rows = pool.columns == 0 ? 0 : counts.size() / pool.columns;
  for (std::size_t row = 0; row < rows; ++row) {
    count_row<Item>(std::span(items).subspan(row * length, length), pool, settings,
                    std::span(counts).subspan(row * pool.columns, pool.columns));
  }
  return {Tensor::of_float(result_dims, counts)};
}

std::vector<Tensor> tf_idf_vectorizer(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.type() == DataType::String) {
    const auto* pool = call.node.get<std::vector<std::string>>("pool_strings");
    if (pool == nullptr) call.fail("has strings, but no pool_strings");
    return vectorized<std::string>(call, input.strings(), *pool);
  }
  const auto* pool = call.node.get<Dims>("pool_int64s");
  if (pool == nullptr) call.fail("has numbers, but no pool_int64s");
  return vectorized<std::int64_t>(call, input.to_int64(), *pool);
}

}  // namespace

void add_n_gram_kernels(KernelTable& table) {
  table["TfIdfVectorizer"] = tf_idf_vectorizer;
}

}  // namespace assay::kernels
