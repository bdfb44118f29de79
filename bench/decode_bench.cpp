// Tokens per second of GPT-2 small, one token at a time: bench_decode WEIGHTS THREADS STEPS CACHE
// with fp32, int8 or int4 weights, and with (1) or without (0) a cache of keys and values. Prints
// one JSON object; bench/decode.py makes a table of many.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "assay/assay.h"

namespace assay {
namespace {

Graph model_with(const std::string& weights, bool has_cache) {
  Graph model = zoo_model(has_cache ? "gpt2_small_decode" : "gpt2_small");
  if (weights == "fp32") return model;
  return quantize_weights(model, {.bits = weights == "int4" ? 4 : 8}).graph;
}

int run(const std::string& weights, int threads, std::size_t steps, bool has_cache) {
  DecodeOptions options{.steps = steps};
  options.program.cpu = {.threads = threads, .pin_threads = true};
  std::vector<std::int64_t> prompt;
  for (std::int64_t i = 0; i < 16; ++i) prompt.push_back(1000 + 37 * i);
  const Decoded result = decode(model_with(weights, has_cache), prompt, options);
  std::printf(
      "{\"weights\": \"%s\", \"threads\": %d, \"cache\": %s, \"tokens_per_second\": %.3f, "
      "\"prompt_ms\": %.3f, \"weight_mb\": %.1f, \"last_token\": %lld}\n",
      weights.c_str(), result.threads, result.has_cache ? "true" : "false",
      result.tokens_per_second(), result.prompt_ms, static_cast<double>(result.weight_bytes) * 1e-6,
      static_cast<long long>(result.tokens.back()));
  return 0;
}

}  // namespace
}  // namespace assay

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s fp32|int8|int4 THREADS STEPS 0|1\n", words[0]);
    return 2;
  }
  return assay::run(words[1], std::atoi(words[2]), std::strtoul(words[3], nullptr, 10),
                    words[4][0] == '1');
}
