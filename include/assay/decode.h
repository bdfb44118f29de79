// Decoding: a language model continues a prompt, one token a step, and each step is timed.
//
// A model that takes past keys and values ("past_key_values.0.key" and so on) and gives present
// ones is decoded with a cache: it is compiled once for one token, its keys and values stay in the
// program, and a step reads only as much of the cache as is filled. Any other model that scores
// every token is run on all tokens so far in every step. It is compiled anew whenever their number
// has grown by an eighth of what is to be generated (or by eight), so that few steps more than
// necessary are computed: `computed` tells how many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/profile.h"
#include "assay/program.h"

namespace assay {

struct DecodeOptions {
  std::size_t steps = 16;  // tokens to generate
  double temperature =
      0;  // 0: the most likely token; else drawn from the softmax of score / temperature
  std::uint64_t seed = 0;  // of what is drawn
  ProgramOptions program = {};
};

struct Decoded {
  std::vector<std::int64_t> tokens;  // generated, without the prompt
  std::vector<float> last_scores;    // of every token of the vocabulary, in the last step
  bool has_cache = false;
  double compile_ms = 0;
  double prompt_ms = 0;                // until the first token was known
  std::vector<double> steps_ms;        // of each token after the first
  std::vector<std::int64_t> computed;  // tokens that each of these steps ran
  std::int64_t weight_bytes = 0;       // as the engine stores them
  std::int64_t cache_bytes = 0;        // keys and values, at their capacity
  int threads = 0;

  double tokens_per_second() const;  // by the median step; 0 without one
};

// Throws an Error for an empty prompt, no steps, a token that the vocabulary does not have, or a
// model whose use of its cache is not recognised, saying where; one of kind Cancelled if `progress`
// cancels.
Decoded decode(const Graph& model, std::span<const std::int64_t> prompt,
               const DecodeOptions& options = {}, Progress* progress = nullptr);

// One step of decoding: a token after `past` others, whose keys and values are in caches for
// `capacity` tokens; 0: for these and the new one.
struct DecodingStep {
  std::int64_t past = 0;
  std::int64_t capacity = 0;
};

// The step profiled as a model is, whose throughput is tokens per second. It runs on random keys
// and values, and does not choose a token by its scores. Throws an Error for a model without past
// keys and values, or whose use of them is not recognised.
Profile profile_decoding_step(const Graph& model, std::string name, const DecodingStep& step,
                              const ProfileOptions& options = {}, Progress* progress = nullptr);

}  // namespace assay
