// Attention over a cache that is state: rows are appended in place, and later runs see them.
#include <gmock/gmock.h>

#include "assay/error.h"
#include "assay/program.h"
#include "execute/cached_attention_graph.h"
#include "execute/compare_engines.h"

namespace assay {
namespace {

constexpr std::int64_t kCapacity = 9;

TEST(CachedAttention, EnginesAgreeFromRunToRun) {
  for (const std::int64_t tokens : {1, 3}) {
    const CachedAttentionForm form{.tokens = tokens, .capacity = kCapacity};
    CachedAttentionRuns fast(form, "cpu");
    CachedAttentionRuns plain(form, "reference");
    for (std::int64_t position = 0; position + tokens <= kCapacity; position += tokens) {
      const auto difference = compare_results(fast.at(position), plain.at(position));
      EXPECT_LT(difference.largest, 1e-5) << position;
    }
    EXPECT_EQ(fast.program().state_values(), plain.program().state_values());
    ASSERT_EQ(fast.program().steps().size(), 1u);  // nothing copies the caches
    EXPECT_EQ(fast.program().steps()[0].algorithm, "in place");
  }
}

TEST(CachedAttention, RowsBehindThePositionAreNotRead) {
  CachedAttentionRuns runs({.capacity = kCapacity}, "cpu");
  const auto before = runs.at(2);
  auto state = runs.program().state_values();
  for (Tensor& cache : state) {
    auto floats = cache.to_vector<float>();
    for (std::size_t i = 0; i < floats.size(); ++i) {
      if (i / 20 % kCapacity > 2) floats[i] = 1e30f;
    }
    cache = Tensor::of_float(cache.dims(), floats);
  }
  runs.program().set_state(state);
  EXPECT_EQ(before, runs.at(2));
}

TEST(CachedAttention, APositionOutsideTheCacheIsRefused) {
  for (const char* engine : {"cpu", "reference"}) {
    CachedAttentionRuns runs({.tokens = 2, .capacity = kCapacity}, engine);
    EXPECT_THROW(runs.at(kCapacity - 1), Error);
    EXPECT_THROW(runs.at(-1), Error);
  }
}

}  // namespace
}  // namespace assay
