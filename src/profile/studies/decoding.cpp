// Decoding without and with a cache of keys and values: what is computed again, what that costs,
// and what a cache takes.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "assay/decode.h"
#include "assay/study.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "base/part_of_progress.h"
#include "base/text.h"
#include "profile/studies/attention_layers.h"
#include "profile/studies/rounds.h"
#include "profile/studies/words.h"
#include "stats/order_statistics.h"
#include "transform/key_value_cache.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr std::size_t kPromptTokens = 16;
constexpr std::int64_t kPromptVocabulary = 50;  // every model has as many tokens
// Shares of the whole time: decoding without a cache, with one; the rest is profiling.
constexpr double kDecodedPlain = 0.6;
constexpr double kDecoded = 0.8;

std::vector<std::int64_t> prompt_of(const DecodingOptions& options) {
  if (!options.prompt.empty()) return options.prompt;
  std::vector<std::int64_t> prompt;
  for (std::size_t i = 0; i < kPromptTokens; ++i) {
    prompt.push_back(static_cast<std::int64_t>(7 * i + 3) % kPromptVocabulary);
  }
  return prompt;
}

void check_decoding(const Graph& plain, const Graph& cached, const DecodingOptions& options) {
  if (options.tokens < 2) fail_usage("`tokens` must be 2 or more: the first one is the prompt's");
  if (transform::takes_past(plain))
    fail_bad_input("the model without a cache takes past keys and values");
  if (!transform::takes_past(cached))
    fail_bad_input(
        "the model with a cache takes no past keys and values: none of its inputs begins with "
        "'past'");
}

// All tokens at once.
Bindings plain_bindings(const Graph& model, std::int64_t length) {
  Bindings bindings;
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape{1, length};
  return bindings;
}

// One token after `past` others. Axis 2 of keys and values is the past.
Bindings cached_bindings(const Graph& model, std::int64_t past) {
  Bindings bindings;
  for (const ValueId id : model.inputs()) {
    const Value& input = model.value(id);
    const bool is_past =
        input.name.starts_with("past") && input.type.shape && input.type.shape->rank() == 4;
    if (!is_past) continue;
    std::vector<std::int64_t> sizes = input.type.shape->values();
    sizes[0] = 1;
    sizes[2] = past;
    bindings.input_shapes[input.name] = Shape(sizes);
  }
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape{1, 1};
  return bindings;
}

struct CountedDecoding {
  std::int64_t macs = 0;
  std::optional<double> attention_share = {};
};

CountedDecoding counted(const Graph& model, const Bindings& bindings) {
  const CountResult result = count_model(model, "", {.bindings = bindings});
  return {result.cost.totals.macs, attention_share(result.cost, attention_layers(model))};
}

// MACs of all lengths that were run, divided by the number of steps; attention's share of the mean
// length.
CountedDecoding counted_steps(const Graph& model, const std::vector<std::int64_t>& lengths,
                              std::int64_t mean_length) {
  CountedDecoding work = counted(model, plain_bindings(model, mean_length));
  std::map<std::int64_t, std::int64_t> macs;  // by length
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    const auto [found, is_new] = macs.try_emplace(length);
    if (is_new) found->second = counted(model, plain_bindings(model, length)).macs;
    sum += found->second;
  }
  if (!lengths.empty()) work.macs = sum / std::ssize(lengths);
  return work;
}

std::int64_t mean_of(const std::vector<std::int64_t>& lengths) {
  const auto sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  return (sum + std::ssize(lengths) / 2) / std::ssize(lengths);
}

// Of the median run; nothing if no layer of attention has a time of its own.
std::optional<double> time_share_of_attention(const Profile& profile, const Graph& model) {
  const auto layers = attention_layers(model);
  double share = 0;
  for (const ProfileLayer& layer : profile.layers) {
    if (layer.time_ms && layers.contains(layer.cost.name)) share += layer.share;
  }
  return share > 0 ? std::optional(share) : std::nullopt;
}

DecodingRow decoding_row(std::string mode, const Decoded& decoded, const CountedDecoding& work) {
  DecodingRow row{.mode = std::move(mode)};
  row.tokens_per_second = decoded.tokens_per_second();
  row.time_to_first_token_ms = decoded.prompt_ms;
  row.latency_ms = stats::median(decoded.steps_ms);
  row.macs_per_token = work.macs;
  row.attention_share_macs = work.attention_share;
  row.weights_mb = in_mb(decoded.weight_bytes);
  row.cache_mb = in_mb(decoded.cache_bytes);
  row.tokens_ms = decoded.steps_ms;
  return row;
}

// The least time that the machine's ceilings allow.
std::optional<double> least_ms(const Profile& profile) {
  if (!profile.percent_of_ceiling) return {};
  return profile.run_ms() * *profile.percent_of_ceiling / 100;
}

void set_prediction(const StudiedProfiles& studied, DecodingComparison& study) {
  const Profile& plain = studied.profiles[0];
  const Profile& cached = studied.profiles[1];
  study.bound_without = main_bound(plain);
  study.bound_with = main_bound(cached);
  const auto plain_ms = least_ms(plain);
  const auto cached_ms = least_ms(cached);
  if (!plain_ms || !cached_ms || *cached_ms <= 0) return;
  study.predicted_speedup = *plain_ms / *cached_ms;
  const auto share = [](double least, const DecodingRow& row) {
    return row.latency_ms > 0 ? least / row.latency_ms : 0;
  };
  study.rows[0].ceiling_share = share(*plain_ms, study.rows[0]);
  study.rows[1].ceiling_share = share(*cached_ms, study.rows[1]);
}

void set_recomputed(DecodingComparison& study) {
  const auto plain = study.rows[0].macs_per_token;
  const auto cached = study.rows[1].macs_per_token;
  study.recomputed_macs = plain - cached;
  study.recomputed_share =
      plain > 0 ? static_cast<double>(plain - cached) / static_cast<double>(plain) : 0;
  study.predicted_speedup_macs =
      cached > 0 ? static_cast<double>(plain) / static_cast<double>(cached) : 0;
  study.measured_speedup =
      study.rows[1].latency_ms > 0 ? study.rows[0].latency_ms / study.rows[1].latency_ms : 0;
}

std::string why_not_as_predicted(const DecodingComparison& study) {
  if (!study.bound_with || *study.bound_with == study.bound_without) return "";
  return fmt::format(
      " Without a cache {} limits a token, with it {}, so time does not shrink as "
      "far as MACs do.",
      study.bound_without == Bound::Compute ? "arithmetic" : "memory traffic",
      *study.bound_with == Bound::Memory ? "reading the weights" : "overhead");
}

// Measured over predicted is the ratio of these two shares.
std::string ceilings_text(const DecodingComparison& study) {
  const auto& without = study.rows[0].ceiling_share;
  const auto& with = study.rows[1].ceiling_share;
  if (!without || !with) return "";
  return fmt::format(
      " Measured, a token runs at {:.0f} % of these ceilings without the cache, and at {:.0f} % "
      "with "
      "it: that makes {:.3g} of {:.3g}.",
      100 * *without, 100 * *with, study.measured_speedup, *study.predicted_speedup);
}

std::string percent_of_macs(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "an unknown share";
}

}  // namespace

std::vector<std::string> decoding_verdict(const DecodingComparison& study) {
  const DecodingRow& plain = study.rows[0];
  const DecodingRow& cached = study.rows[1];
  std::vector<std::string> sentences = {
      fmt::format("With the cache, {} tokens after a prompt of {} come {:.3g} times as fast: {} "
                  "instead of {} tokens/s.",
                  study.tokens, study.prompt, study.measured_speedup,
                  rate_text(cached.tokens_per_second), rate_text(plain.tokens_per_second)),
      fmt::format("Without it, {:.1f} % of a token's {} MACs compute again what the cache holds: "
                  "{} MACs are enough, {:.3g} times fewer.",
                  100 * study.recomputed_share,
                  with_si_suffix(static_cast<double>(plain.macs_per_token)),
                  with_si_suffix(static_cast<double>(cached.macs_per_token)),
                  study.predicted_speedup_macs)};
  if (study.predicted_speedup) {
    sentences.push_back(
        fmt::format("Arithmetic and bytes at this machine's ceilings predict a "
                    "speed-up of {:.3g}.{}{}",
                    *study.predicted_speedup, why_not_as_predicted(study), ceilings_text(study)));
  }
  sentences.push_back(fmt::format(
      "Attention is {} of the MACs without the cache and {} with it{}.",
      percent_of_macs(plain.attention_share_macs), percent_of_macs(cached.attention_share_macs),
      plain.attention_share_time && cached.attention_share_time
          ? fmt::format("; {:.0f} % and {:.0f} % of the time", 100 * *plain.attention_share_time,
                        100 * *cached.attention_share_time)
          : ""));
  sentences.push_back(fmt::format("The cache takes {:.3g} KB for each token, {:.3g} MB here.",
                                  study.memory_per_token_kb, cached.cache_mb));
  if (!study.same_tokens)
    sentences.push_back("The tokens differ: scores that are nearly equal are rounded differently.");
  return sentences;
}

DecodingComparison analyze_decoding(const Graph& plain, const Graph& cached,
                                    const std::string& name, const DecodingOptions& options,
                                    Progress* progress) {
  check_decoding(plain, cached, options);
  const std::vector<std::int64_t> prompt = prompt_of(options);
  const auto first_past = static_cast<std::int64_t>(prompt.size());
  const std::int64_t length = first_past + static_cast<std::int64_t>(options.tokens) - 1;
  const std::int64_t mean_past = (first_past + length - 1) / 2;

  const DecodeOptions decoding{.steps = options.tokens,
                               .seed = options.measuring.seed,
                               .program = options.measuring.program};
  const LoadSince load;
  PartOfProgress slowly(progress, 0, kDecodedPlain, "decoding without a cache");
  const Decoded again = decode(plain, prompt, decoding, &slowly);
  PartOfProgress quickly(progress, kDecodedPlain, kDecoded, "decoding with a cache");
  const Decoded kept = decode(cached, prompt, decoding, &quickly);

  const std::int64_t mean_length = mean_of(again.computed);
  StudySetting whole{"all tokens again", name, plain, study_run({}, options.measuring)};
  whole.run.bindings = plain_bindings(plain, mean_length);
  StudySetting one{"one token", name, cached, study_run({}, options.measuring)};
  one.run.bindings = cached_bindings(cached, mean_past);
  PartOfProgress profiling(progress, kDecoded, 1, "profiling a token");
  StudiedProfiles studied = profile_in_rounds({whole, one}, options.measuring, &profiling);

  DecodingComparison study;
  set_facts(studied.profiles.front(), study);
  study.warnings = std::move(studied.warnings);
  load.add_to(study.warnings);
  study.tokens = options.tokens;
  study.prompt = prompt.size();
  study.rows = {
      decoding_row("without cache", again, counted_steps(plain, again.computed, mean_length)),
      decoding_row("with cache", kept, counted(cached, one.run.bindings))};
  study.rows[0].attention_share_time = time_share_of_attention(studied.profiles[0], plain);
  study.rows[1].attention_share_time = time_share_of_attention(studied.profiles[1], cached);
  study.memory_per_token_kb =
      static_cast<double>(kept.cache_bytes) / 1024 / static_cast<double>(length);
  study.same_tokens = again.tokens == kept.tokens;
  set_recomputed(study);
  set_prediction(studied, study);
  study.verdict = decoding_verdict(study);
  return study;
}

}  // namespace assay
