// What each precision of a model costs, and how far its outputs are from those of the first.
#include <algorithm>
#include <cmath>

#include "assay/study.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "base/text.h"
#include "profile/compiled_model.h"
#include "profile/studies/rounds.h"

namespace assay {

using namespace assay::profile;

namespace {

// Random inputs that outputs are compared for: one alone would agree in all or in nothing.
constexpr std::size_t kComparedInputs = 16;

RunOptions variant_run(const PrecisionVariant& variant, const StudyOptions& options,
                       const RunOptions& run) {
  RunOptions one = study_run(run, options);
  one.program.precision = variant.cast;
  one.program.only_where_faster = false;  // the study is about the precision itself
  return one;
}

std::vector<StudySetting> precision_settings(const std::vector<PrecisionVariant>& variants,
                                             const std::string& name, const StudyOptions& options,
                                             const RunOptions& run) {
  std::vector<StudySetting> settings;
  for (const PrecisionVariant& variant : variants) {
    settings.push_back(
        {variant.precision, name, variant.graph, variant_run(variant, options, run)});
  }
  return settings;
}

// The first outputs of a model, for one input after another.
struct Outputs {
  std::vector<float> numbers;
  std::size_t width = 1;  // of a row along the last axis
};

// Nothing if they are not float32.
std::optional<Outputs> first_outputs(const PrecisionVariant& variant, const StudyOptions& options,
                                     const RunOptions& run) {
  RunOptions one = variant_run(variant, options, run);
  Prepared prepared = prepare_to_run(variant.graph, "", one);
  const auto program = compile(std::move(prepared.inferred), one.program);
  Outputs outputs;
  for (std::size_t i = 0; i < kComparedInputs; ++i, ++one.seed) {
    program->set_inputs(inputs_for(*program, one, prepared.full_lengths));
    program->run();
    const std::vector<Tensor> results = program->results();
    if (results.empty() || results.front().type() != DataType::Float32) return {};
    const Tensor& first = results.front();
    const auto* numbers = reinterpret_cast<const float*>(first.bytes().data());
    outputs.numbers.insert(outputs.numbers.end(), numbers,
                           numbers + first.bytes().size() / sizeof(float));
    if (!first.dims().empty()) outputs.width = static_cast<std::size_t>(first.dims().back());
  }
  return outputs;
}

// Root mean square of the difference over that of the expected numbers.
std::optional<double> relative_deviation(std::span<const float> actual,
                                         std::span<const float> expected) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(actual[i]) - static_cast<double>(expected[i]);
    error += difference * difference;
    size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  if (!(size > 0) || !std::isfinite(error)) return {};
  return std::sqrt(error / size);
}

double agreement_of_rows(std::span<const float> actual, std::span<const float> expected,
                         std::size_t width) {
  std::size_t same = 0;
  const std::size_t rows = expected.size() / width;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto one = actual.subspan(row * width, width);
    const auto other = expected.subspan(row * width, width);
    const auto at = [](std::span<const float> numbers) {
      return std::ranges::max_element(numbers) - numbers.begin();
    };
    if (at(one) == at(other)) ++same;
  }
  return static_cast<double>(same) / static_cast<double>(rows);
}

void compare_outputs(const std::optional<Outputs>& actual, const std::optional<Outputs>& expected,
                     PrecisionStudyRow& row) {
  if (!actual || !expected || actual->numbers.size() != expected->numbers.size()) return;
  if (expected->numbers.empty()) return;
  row.output_deviation = relative_deviation(actual->numbers, expected->numbers);
  if (expected->width < 2) return;
  row.output_agreement = agreement_of_rows(actual->numbers, expected->numbers, expected->width);
  row.compared_rows = static_cast<std::int64_t>(expected->numbers.size() / expected->width);
}

double stored_mb(const PrecisionVariant& variant, const RunOptions& run) {
  CountOptions options{.bindings = run.bindings, .input_values = run.known_values};
  options.stored_as = variant.cast;
  return in_mb(count_model(variant.graph, "", options).memory.stored_bytes);
}

PrecisionStudyRow precision_row(const PrecisionVariant& variant, const Profile& profile,
                                const Profile& first) {
  PrecisionStudyRow row;
  row.precision = variant.precision;
  row.latency_ms = profile.run_ms();
  row.speedup = row.latency_ms > 0 ? first.run_ms() / row.latency_ms : 0;
  row.memory_mb = in_mb(profile.memory.peak_bytes);
  row.gflops_per_second = profile.gflops_per_second;
  return row;
}

std::string deviation_text(const PrecisionStudyRow& row) {
  if (!row.output_deviation) return "";
  std::string text = fmt::format("; its outputs deviate by {:.2g} %", 100 * *row.output_deviation);
  if (row.output_agreement && *row.output_agreement < 1) {
    text += fmt::format(" and the largest one is the same in {:.0f} % of {} rows",
                        100 * *row.output_agreement, with_thousands(row.compared_rows));
  }
  return text;
}

std::string precision_sentence(const PrecisionStudyRow& row, const PrecisionStudyRow& first) {
  return fmt::format(
      "{} is {:.2f} times as fast as {}, with {:.0f} % of its size and {:.0f} % of "
      "its memory{}.",
      row.precision, row.speedup, first.precision,
      100 * row.size_mb / std::max(1e-12, first.size_mb),
      100 * row.memory_mb / std::max(1e-12, first.memory_mb), deviation_text(row));
}

}  // namespace

std::vector<std::string> precision_verdict(const PrecisionComparison& study) {
  std::vector<std::string> sentences;
  const PrecisionStudyRow& first = study.rows.front();
  sentences.push_back(
      study.fastest == study.smallest
          ? fmt::format("{} is the fastest and the smallest.", study.fastest)
          : fmt::format("{} is the fastest, {} the smallest.", study.fastest, study.smallest));
  for (std::size_t i = 1; i < study.rows.size(); ++i) {
    sentences.push_back(precision_sentence(study.rows[i], first));
  }
  return sentences;
}

PrecisionComparison analyze_precisions(const std::vector<PrecisionVariant>& variants,
                                       const std::string& name, const StudyOptions& options,
                                       const RunOptions& run, Progress* progress) {
  StudiedProfiles studied =
      profile_in_rounds(precision_settings(variants, name, options, run), options, progress);
  PrecisionComparison study;
  set_facts(studied.profiles.front(), study);
  study.warnings = std::move(studied.warnings);
  study.batch = studied.profiles.front().batch;
  const auto expected = first_outputs(variants.front(), options, run);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    PrecisionStudyRow row =
        precision_row(variants[i], studied.profiles[i], studied.profiles.front());
    row.size_mb = stored_mb(variants[i], run);
    if (i > 0) compare_outputs(first_outputs(variants[i], options, run), expected, row);
    study.rows.push_back(std::move(row));
  }
  study.fastest = std::ranges::min(study.rows, {}, &PrecisionStudyRow::latency_ms).precision;
  study.smallest = std::ranges::min(study.rows, {}, &PrecisionStudyRow::size_mb).precision;
  study.verdict = precision_verdict(study);
  return study;
}

}  // namespace assay
