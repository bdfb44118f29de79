// What a larger batch gives and takes.
#include <algorithm>

#include "assay/study.h"
#include "assay/zoo.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "base/text.h"
#include "profile/studies/rounds.h"
#include "profile/studies/words.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr const char* kBatchModel = "dense:width=256";

std::vector<StudySetting> batched_models(const Graph& model, const std::string& name,
                                         const BatchOptions& options) {
  if (options.batches.empty()) fail_usage("`batches` is empty");
  std::vector<StudySetting> settings;
  for (const std::int64_t batch : options.batches) {
    RunOptions run = study_run(options.run, options.measuring);
    run.bindings.batch = batch;
    settings.push_back({fmt::format("batch {}", batch), name, model, std::move(run)});
  }
  return settings;
}

BatchRow batch_row(const Profile& profile, std::int64_t batch, std::optional<double> max_mb) {
  BatchRow row;
  row.batch_size = batch;
  row.latency_ms = profile.run_ms();
  row.samples_per_second =
      row.latency_ms > 0 ? 1000 * static_cast<double>(batch) / row.latency_ms : 0;
  row.memory_mb = in_mb(profile.memory.peak_bytes);
  row.samples_per_second_per_mb = row.memory_mb > 0 ? row.samples_per_second / row.memory_mb : 0;
  row.within_budget = !max_mb || row.memory_mb <= *max_mb;
  return row;
}

// The highest throughput within the budget.
std::optional<std::size_t> best_row(std::span<const BatchRow> rows) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_better = !best || rows[i].samples_per_second > rows[*best].samples_per_second;
    if (rows[i].within_budget && is_better) best = i;
  }
  return best;
}

const BatchRow& row_of(const BatchSizeEffects& study, std::int64_t batch) {
  return *std::ranges::find(study.rows, batch, &BatchRow::batch_size);
}

std::string sps_text(double samples_per_second) {
  return (samples_per_second < 1e6 ? rate_text(samples_per_second)
                                   : with_si_suffix(samples_per_second)) +
         " samples/s";
}

std::string budget_text(const BatchSizeEffects& study) {
  return study.max_mb ? fmt::format(" within {} MB", with_decimal(*study.max_mb)) : "";
}

std::string sweet_spot_sentence(const BatchSizeEffects& study) {
  const BatchRow& sweet = row_of(study, *study.sweet_spot);
  const BatchRow& best = row_of(study, *study.best_batch);
  return fmt::format(
      "The sweet spot is batch {}: {} in {:.3g} MB, {:.1f} % of the best throughput{} (batch {}). "
      "It is the smallest batch within {:.0f} % of the best.",
      sweet.batch_size, sps_text(sweet.samples_per_second), sweet.memory_mb,
      100 * sweet.samples_per_second / best.samples_per_second, budget_text(study), best.batch_size,
      100 * (1 - kSweetSpotShare));
}

// Fetching each weight once serves all samples of a batch, until something else limits.
std::string gain_sentence(const BatchSizeEffects& study) {
  const BatchRow& first = study.rows.front();
  const BatchRow& sweet = row_of(study, *study.sweet_spot);
  if (sweet.batch_size == first.batch_size) {
    return "Larger batches add latency and memory, and hardly any throughput.";
  }
  return fmt::format(
      "Compared with batch {}, it has {} the throughput, {} the latency and {} the memory.",
      first.batch_size, times_text(sweet.samples_per_second / first.samples_per_second),
      times_text(sweet.latency_ms / first.latency_ms),
      times_text(sweet.memory_mb / first.memory_mb));
}

std::string per_mb_sentence(const BatchSizeEffects& study) {
  const BatchRow& most = row_of(study, *study.most_per_mb);
  return fmt::format("Throughput per MB is highest at batch {}: {} per MB.", most.batch_size,
                     sps_text(most.samples_per_second_per_mb));
}

}  // namespace

std::optional<std::size_t> find_sweet_spot(std::span<const BatchRow> rows) {
  const auto best = best_row(rows);
  if (!best) return {};
  std::size_t sweet = *best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_near =
        rows[i].samples_per_second >= kSweetSpotShare * rows[*best].samples_per_second;
    const bool is_smaller = rows[i].batch_size < rows[sweet].batch_size;
    if (rows[i].within_budget && is_near && is_smaller) sweet = i;
  }
  return sweet;
}

std::vector<std::string> batch_verdict(const BatchSizeEffects& study) {
  if (!study.sweet_spot) {
    const auto least = std::ranges::min(study.rows, {}, &BatchRow::memory_mb);
    return {fmt::format("No batch stays within {} MB: batch {} takes {:.3g} MB.",
                        with_decimal(study.max_mb.value_or(0)), least.batch_size, least.memory_mb)};
  }
  return {sweet_spot_sentence(study), gain_sentence(study), per_mb_sentence(study)};
}

BatchSizeEffects analyze_batch_size_effects(const BatchOptions& options, Progress* progress) {
  return analyze_batch_size_effects(zoo_model(kBatchModel), std::string("zoo:") + kBatchModel,
                                    options, progress);
}

BatchSizeEffects analyze_batch_size_effects(const Graph& model, const std::string& name,
                                            const BatchOptions& options, Progress* progress) {
  StudiedProfiles studied =
      profile_in_rounds(batched_models(model, name, options), options.measuring, progress);
  BatchSizeEffects study;
  set_facts(studied.profiles.front(), study);
  study.warnings = std::move(studied.warnings);
  study.max_mb = options.max_mb;
  for (std::size_t i = 0; i < options.batches.size(); ++i) {
    study.rows.push_back(batch_row(studied.profiles[i], options.batches[i], options.max_mb));
  }
  if (const auto sweet = find_sweet_spot(study.rows)) {
    study.sweet_spot = study.rows[*sweet].batch_size;
    study.best_batch = study.rows[*best_row(study.rows)].batch_size;
  }
  study.most_per_mb =
      std::ranges::max(study.rows, {}, &BatchRow::samples_per_second_per_mb).batch_size;
  study.verdict = batch_verdict(study);
  return study;
}

}  // namespace assay
