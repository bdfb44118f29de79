// How the cost of a model grows with one of its parameters.
#include <algorithm>
#include <cmath>

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

std::string spec_with(const ScalingOptions& options, std::int64_t value) {
  const char separator = options.model.find(':') == std::string::npos ? ':' : ',';
  return fmt::format("{}{}{}={}", options.model, separator, options.parameter, value);
}

void check_scaling(const ScalingOptions& options) {
  if (options.values.size() < 2) fail_usage("growth needs at least two `values`");
  if (!std::ranges::is_sorted(options.values, std::ranges::less_equal{})) {
    fail_usage("`values` must ascend: growth is from the first to the last");
  }
}

std::vector<StudySetting> scaled_models(const ScalingOptions& options) {
  std::vector<StudySetting> settings;
  RunOptions run = study_run({}, options.measuring);
  if (options.parameter != "batch") run.bindings.batch = options.batch;
  for (const std::int64_t value : options.values) {
    const std::string spec = spec_with(options, value);
    settings.push_back(
        {fmt::format("{}={}", options.parameter, value), "zoo:" + spec, zoo_model(spec), run});
  }
  return settings;
}

// The nearest level that holds so many bytes; main memory holds any.
std::string level_that_holds(const std::optional<Roofline>& roofline, std::int64_t bytes) {
  if (!roofline) return "";
  for (const MemoryRoof& level : roofline->levels) {
    if (level.bytes == 0 || bytes <= level.bytes) return level.level;
  }
  return roofline->levels.back().level;
}

ScalingRow scaling_row(std::int64_t size, const Profile& profile) {
  ScalingRow row;
  row.size = size;
  row.parameters = profile.totals.parameters;
  row.flops = profile.totals.flops;
  row.latency_ms = profile.run_ms();
  row.memory_mb = in_mb(profile.memory.peak_bytes);
  row.gflops_per_second = profile.gflops_per_second;
  row.fits_in = level_that_holds(profile.roofline, profile.memory.peak_bytes);
  row.bound = main_bound(profile);
  row.percent_of_ceiling = profile.percent_of_ceiling;
  return row;
}

template <typename Get>
std::vector<double> column_of(const std::vector<ScalingRow>& rows, Get get) {
  std::vector<double> numbers;
  for (const ScalingRow& row : rows) numbers.push_back(static_cast<double>(get(row)));
  return numbers;
}

// `rate` turns the sizes and one column into a figure of its growth.
template <typename Rate>
ScalingGrowth growth_by(const std::vector<ScalingRow>& rows, Rate rate) {
  const auto sizes = column_of(rows, [](const ScalingRow& row) { return row.size; });
  const auto of = [&](auto get) { return rate(sizes, column_of(rows, get)); };
  return {of([](const ScalingRow& row) { return row.parameters; }),
          of([](const ScalingRow& row) { return row.flops; }),
          of([](const ScalingRow& row) { return row.latency_ms; }),
          of([](const ScalingRow& row) { return row.memory_mb; }),
          of([](const ScalingRow& row) { return row.gflops_per_second; })};
}

std::optional<double> factor_of(const std::vector<double>&, const std::vector<double>& values) {
  if (!(values.front() > 0)) return {};
  return values.back() / values.front();
}

std::vector<CacheEnd> cache_ends(const Study& study, const std::vector<ScalingRow>& rows) {
  std::vector<CacheEnd> ends;
  if (!study.roofline) return ends;
  for (const MemoryRoof& level : study.roofline->levels) {
    if (level.bytes == 0) continue;
    CacheEnd end{level.level, level.bytes, {}};
    for (const ScalingRow& row : rows) {
      if (row.memory_mb * kMegabyte <= static_cast<double>(level.bytes)) continue;
      end.leaves_at = row.size;
      break;
    }
    ends.push_back(end);
  }
  return ends;
}

std::string what_to_work_on(std::optional<Bound> bound) {
  if (!bound) return "";
  switch (*bound) {
    case Bound::Compute:
      return "Work on arithmetic: fewer multiplications (pruning, smaller layers) or a precision "
             "with a higher peak.";
    case Bound::Memory:
      return "Work on bytes: a lower precision, or a larger batch that reuses each weight more "
             "often.";
    case Bound::Overhead:
      return "Work on overhead: larger batches, or fewer and larger layers.";
  }
  return "";
}

// "×1.5"
std::string factor_text(std::optional<double> factor) {
  return factor ? fmt::format("×{:.3g}", *factor) : "unknown";
}

std::string growth_sentence(const ModelScaling& study) {
  const ScalingGrowth& growth = study.growth_factors;
  return fmt::format(
      "From {0}={1} to {0}={2}: parameters {3}, FLOPs {4}, latency {5}, memory {6}, GFLOP/s {7}.",
      study.parameter, with_thousands(study.rows.front().size),
      with_thousands(study.rows.back().size), factor_text(growth.parameters),
      factor_text(growth.flops), factor_text(growth.latency), factor_text(growth.memory),
      factor_text(growth.efficiency));
}

std::string exponent_sentence(const ModelScaling& study) {
  const ScalingGrowth& fitted = study.exponents;
  if (!fitted.latency || !fitted.flops) return "";
  const std::string reason =
      *fitted.latency < *fitted.flops - 0.1   ? "larger sizes use the machine better"
      : *fitted.latency > *fitted.flops + 0.1 ? "larger sizes use the machine worse"
                                              : "time follows the arithmetic";
  return fmt::format("Latency ~ {}^{:.2f}, FLOPs ~ {}^{:.2f}: {}.", study.parameter,
                     *fitted.latency, study.parameter, *fitted.flops, reason);
}

std::string cache_sentence(const ModelScaling& study) {
  std::vector<std::string> parts;
  std::vector<std::string> too_small;  // for every size
  for (const CacheEnd& end : study.caches) {
    if (!end.leaves_at) continue;
    const std::string level =
        fmt::format("{} ({})", end.level, with_binary_unit(static_cast<double>(end.bytes)));
    if (*end.leaves_at == study.rows.front().size) {
      too_small.push_back(level);
    } else {
      parts.push_back(
          fmt::format("{} at {}={}", level, study.parameter, with_thousands(*end.leaves_at)));
    }
  }
  std::string text;
  if (!too_small.empty())
    text = "The working set of every size is larger than " + join(too_small, " and ") + ".";
  if (!parts.empty())
    text += (text.empty() ? "The working set leaves " : " It leaves ") + join(parts, ", ") + ".";
  if (!text.empty()) return text;
  if (study.caches.empty()) return "";
  return fmt::format("The working set of every size fits into {}.", study.rows.back().fits_in);
}

std::string limit_sentence(const ModelScaling& study) {
  std::vector<std::string> parts;
  for (const ScalingRow& row : study.rows) {
    if (!row.bound) return "";
    const std::string word = limit_word(*row.bound);
    if (!parts.empty() && parts.back().starts_with(word)) continue;
    parts.push_back(fmt::format("{} from {}={}", word, study.parameter, with_thousands(row.size)));
  }
  if (parts.size() == 1) {
    return fmt::format("{} limits every size.", limit_word(*study.rows.front().bound));
  }
  return "What limits it: " + join(parts, ", ") + ".";
}

}  // namespace

std::optional<double> fitted_exponent(std::span<const double> sizes,
                                      std::span<const double> values) {
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (std::size_t i = 0; i < std::min(sizes.size(), values.size()); ++i) {
    if (!(sizes[i] > 0) || !(values[i] > 0)) continue;
    const double x = std::log(sizes[i]);
    const double y = std::log(values[i]);
    count += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double spread = count * sum_xx - sum_x * sum_x;
  if (count < 2 || spread <= 1e-12 * count * sum_xx) return {};
  return (count * sum_xy - sum_x * sum_y) / spread;
}

std::vector<std::string> scaling_verdict(const ModelScaling& study) {
  std::vector<std::string> sentences;
  for (const std::string& sentence :
       {growth_sentence(study), exponent_sentence(study), cache_sentence(study),
        limit_sentence(study), study.work_on}) {
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  return sentences;
}

ModelScaling analyze_model_scaling(const ScalingOptions& options, Progress* progress) {
  check_scaling(options);
  StudiedProfiles studied = profile_in_rounds(scaled_models(options), options.measuring, progress);
  ModelScaling study;
  set_facts(studied.profiles.back(), study);
  study.model->name = "zoo:" + options.model;
  study.model->inputs.clear();  // they differ
  study.model->outputs.clear();
  study.model->edges.clear();
  study.warnings = std::move(studied.warnings);
  study.parameter = options.parameter;
  study.batch = studied.profiles.front().batch;
  for (std::size_t i = 0; i < options.values.size(); ++i) {
    study.rows.push_back(scaling_row(options.values[i], studied.profiles[i]));
  }
  study.growth_factors = growth_by(study.rows, factor_of);
  study.exponents = growth_by(study.rows, [](const auto& sizes, const auto& values) {
    return fitted_exponent(sizes, values);
  });
  study.caches = cache_ends(study, study.rows);
  const std::optional<Bound> bound = study.rows.back().bound;
  if (bound) study.limited_by = name(*bound);
  study.work_on = what_to_work_on(bound);
  study.verdict = scaling_verdict(study);
  return study;
}

}  // namespace assay
