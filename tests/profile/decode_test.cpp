#include "assay/decode.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "assay/error.h"
#include "assay/quantize_weights.h"
#include "profile/tiny_decoder.h"

namespace assay {
namespace {

const std::vector<std::int64_t> kPrompt = {3, 1, 4, 15, 9};

TEST(Decode, ACacheChangesNoTokenAndNoScore) {
  for (const char* engine : {"cpu", "reference"}) {
    DecodeOptions options{.steps = 12};
    options.program.engine = engine;
    const Decoded plain = decode(plain_decoder(), kPrompt, options);
    const Decoded cached = decode(cached_decoder(), kPrompt, options);
    EXPECT_FALSE(plain.has_cache);
    EXPECT_TRUE(cached.has_cache);
    ASSERT_EQ(plain.tokens.size(), 12u);
    EXPECT_EQ(plain.tokens, cached.tokens) << engine;
    ASSERT_EQ(plain.last_scores.size(), cached.last_scores.size());
    for (std::size_t i = 0; i < plain.last_scores.size(); ++i)
      EXPECT_NEAR(plain.last_scores[i], cached.last_scores[i], 1e-4) << engine;
    EXPECT_EQ(cached.steps_ms.size(), 11u);
    EXPECT_GT(cached.tokens_per_second(), 0);
    // Two layers of keys and values for 5 + 12 - 1 tokens.
    EXPECT_EQ(cached.cache_bytes, 2 * 2 * 16 * kModelWidth * 4);
  }
}

// A token without a cache computes those before it and, because models are compiled for blocks of
// eight tokens or more, at most seven that are not there yet.
TEST(Decode, WithoutACacheAStepComputesTheTokensSoFar) {
  const Decoded plain = decode(plain_decoder(), kPrompt, {.steps = 12});
  const Decoded cached = decode(cached_decoder(), kPrompt, {.steps = 12});
  // 5 of the prompt and 1 to 8 new ones, then all 5 + 11.
  EXPECT_THAT(plain.computed, testing::ElementsAre(13, 13, 13, 13, 13, 13, 13, 13, 16, 16, 16));
  EXPECT_THAT(cached.computed, testing::Each(1));
  EXPECT_EQ(cached.computed.size(), cached.steps_ms.size());
}

TEST(Decode, QuantisedWeightsDecodeToo) {
  const Graph coded = quantize_weights(cached_decoder(), {.bits = 8}).graph;
  const Decoded exact = decode(cached_decoder(), kPrompt, {.steps = 1});
  const Decoded near = decode(coded, kPrompt, {.steps = 1});
  double largest = 0;
  for (const float score : exact.last_scores)
    largest = std::max(largest, std::abs(static_cast<double>(score)));
  for (std::size_t i = 0; i < exact.last_scores.size(); ++i)
    EXPECT_NEAR(exact.last_scores[i], near.last_scores[i], 0.03 * largest);
}

TEST(Decode, ATemperatureDrawsTheSameTokensForTheSameSeed) {
  DecodeOptions options{.steps = 8, .temperature = 2, .seed = 5};
  const auto once = decode(cached_decoder(), kPrompt, options).tokens;
  EXPECT_EQ(once, decode(cached_decoder(), kPrompt, options).tokens);
  options.seed = 6;
  EXPECT_NE(once, decode(cached_decoder(), kPrompt, options).tokens);
}

TEST(Decode, AMaskThatIsNotCausalIsRefused) {
  EXPECT_THROW(decode(cached_decoder(Mask::None), kPrompt, {.steps = 2}), Error);
}

TEST(Decode, BadRequestsAreRefused) {
  EXPECT_THROW(decode(cached_decoder(), {}, {.steps = 2}), Error);
  EXPECT_THROW(decode(cached_decoder(), kPrompt, {.steps = 0}), Error);
  EXPECT_THROW(decode(cached_decoder(), kPrompt, {.steps = 2, .temperature = -1}), Error);
  const std::vector<std::int64_t> unknown = {kModelVocabulary};
  EXPECT_THROW(decode(cached_decoder(), unknown, {.steps = 2}), Error);
  // The model knows 24 positions.
  EXPECT_THROW(decode(cached_decoder(), kPrompt, {.steps = 30}), Error);
}

TEST(Decode, AStepIsProfiledWithItsCache) {
  const ProfileOptions options{.timing = {.fixed_warmup = 1, .fixed_samples = 3}, .judge = false};
  const Profile profile =
      profile_decoding_step(cached_decoder(), "tiny", {.past = 5, .capacity = 20}, options);
  const auto is_attention = [](const ProfileLayer& layer) {
    return layer.cost.op.ends_with("CachedAttention");
  };
  EXPECT_EQ(std::ranges::count_if(profile.layers, is_attention), 2);
  EXPECT_GT(profile.throughput_sps, 0);
  EXPECT_NEAR(profile.throughput_sps * profile.latency.latency.median_ms, 1000, 1e-6);
}

TEST(Decode, AStepThatDoesNotFitItsCacheIsRefused) {
  EXPECT_THROW(profile_decoding_step(cached_decoder(), "tiny", {.past = 5, .capacity = 5}), Error);
  EXPECT_THROW(profile_decoding_step(cached_decoder(), "tiny", {.past = -1}), Error);
  EXPECT_THROW(profile_decoding_step(plain_decoder(), "tiny", {.past = 5}), Error);
}

}  // namespace
}  // namespace assay
