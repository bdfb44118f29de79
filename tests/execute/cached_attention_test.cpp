// Attention over a cache that is state: rows are appended in place, and later runs see them.
#include <gmock/gmock.h>

#include "assay/error.h"
#include "assay/program.h"
#include "execute/cached_attention_graph.h"
#include "execute/compare_engines.h"

namespace assay {
namespace {

constexpr std::int64_t kCapacity = 9;

class Runs {
 public:
  Runs(std::int64_t tokens, const std::string& engine)
      : program_(
            compile(infer_shapes(cached_attention_graph({.tokens = tokens, .capacity = kCapacity})),
                    {.engine = engine})) {
    program_->set_state(random_inputs(program_->state(), 1));
  }

  std::vector<Tensor> at(std::int64_t position) {
    auto inputs = random_inputs(program_->inputs(), static_cast<std::uint64_t>(position));
    inputs.back() = Tensor::of_int64({1}, {position});
    program_->set_inputs(inputs);
    program_->run();
    return program_->results();
  }

  Program& program() { return *program_; }

 private:
  std::unique_ptr<Program> program_;
};

TEST(CachedAttention, EnginesAgreeFromRunToRun) {
  for (const std::int64_t tokens : {1, 3}) {
    Runs fast(tokens, "cpu");
    Runs plain(tokens, "reference");
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
  Runs runs(1, "cpu");
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
    Runs runs(2, engine);
    EXPECT_THROW(runs.at(kCapacity - 1), Error);
    EXPECT_THROW(runs.at(-1), Error);
  }
}

}  // namespace
}  // namespace assay
