#include <utility>

#include "assay/decode.h"
#include "base/fail.h"
#include "transform/key_value_cache.h"

namespace assay {

namespace {

std::int64_t checked_capacity(const DecodingStep& step) {
  if (step.past < 0) fail_usage("{} earlier tokens: choose 0 or more", step.past);
  const std::int64_t needed = step.past + 1;
  if (step.capacity == 0) return needed;
  if (step.capacity < needed)
    fail_usage("a token after {} others does not fit caches of {}", step.past, step.capacity);
  return step.capacity;
}

}  // namespace

Profile profile_decoding_step(const Graph& model, std::string name, const DecodingStep& step,
                              const ProfileOptions& options, Progress* progress) {
  const std::int64_t capacity = checked_capacity(step);
  if (!transform::takes_past(model))
    fail_bad_input(
        "a step of decoding needs a model that takes past keys and values: none of its inputs "
        "begins with 'past'");
  transform::CachedDecoder decoder = transform::with_key_value_cache(model, {capacity, 1});
  ProfileOptions own = options;
  own.run.inputs[decoder.position] = Tensor::of_int64({1}, {step.past});
  // What is carried from run to run has one precision.
  own.run.program.only_where_faster = false;
  return profile_model(std::move(decoder.graph), std::move(name), own, progress);
}

}  // namespace assay
