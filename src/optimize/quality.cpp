#include "optimize/quality.h"

#include <algorithm>
#include <cmath>

#include "base/fail.h"
#include "profile/compiled_model.h"
#include "train/bound_model.h"
#include "transform/inference_mode.h"

namespace assay::optimize {

namespace {

// Nothing is timed here, so no algorithm needs to be chosen by timing it.
ProgramOptions without_tuning(ProgramOptions options) {
  options.optimize_for = OptimizeFor::Memory;
  options.tuning_file.clear();
  options.tuning_cache.clear();
  return options;
}

void check_not_cancelled(Progress* progress) {
  if (progress != nullptr && progress->cancelled()) {
    throw Error(ErrorKind::Cancelled, "stopped while a version was judged");
  }
}

std::vector<Tensor> results_for(Program& program, std::span<const Tensor> inputs) {
  program.set_inputs(inputs);
  program.run();
  return program.results();
}

std::vector<std::vector<Tensor>> labelled_outputs(const Graph& model, const Loader& loader,
                                                  const ProgramOptions& options,
                                                  Progress* progress) {
  std::vector<std::vector<Tensor>> all;
  auto bound = train::bind_to_data(model, loader.dataset(), loader.batch(0).labels.elements());
  const auto program = compile(std::move(bound.model), options, progress);
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    check_not_cancelled(progress);
    const Tensor samples = train::fitted_samples(loader.batch(i).samples, bound);
    all.push_back(results_for(*program, std::vector{samples}));
  }
  return all;
}

std::size_t class_axis(const Tensor& scores) {
  constexpr std::size_t kImageRank = 4;
  const std::size_t rank = scores.dims().size();
  return rank >= kImageRank ? 1 : std::max<std::size_t>(rank, 1) - 1;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) all *= dim;
  return all;
}

std::int64_t count_equal(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) equal += a[i] == b[i] ? 1 : 0;
  return equal;
}

// Numbers at equal distances.
struct Strided {
  std::int64_t first = 0;
  std::int64_t distance = 1;
  std::int64_t count = 0;
};

// The position among them.
std::int64_t largest_of(const std::vector<double>& numbers, const Strided& row) {
  const auto at = [&](std::int64_t i) {
    return numbers[static_cast<std::size_t>(row.first + i * row.distance)];
  };
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < row.count; ++i) {
    if (at(i) > at(best)) best = i;
  }
  return best;
}

// A last batch may be filled up with copies: only the first rows are samples.
std::vector<std::int64_t> first_samples(std::vector<std::int64_t> decisions, std::int64_t samples,
                                        std::int64_t batch) {
  const auto rows = static_cast<std::int64_t>(decisions.size()) / std::max<std::int64_t>(1, batch);
  decisions.resize(static_cast<std::size_t>(rows * std::min(samples, batch)));
  return decisions;
}

// Sums over batches.
class QualitySums {
 public:
  void add(const std::vector<Tensor>& reference, const std::vector<Tensor>& actual,
           const std::optional<Tensor>& labels) {
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (!is_floating(reference[i].type())) continue;
      noise_.add(reference[i].to_double(), actual[i].to_double());
    }
    if (!actual.empty()) add_decisions(reference.front(), actual.front(), labels);
  }

  VariantQuality finish(bool is_labelled) {
    if (sums_.decisions > 0) {
      sums_.agreement = static_cast<double>(equal_) / static_cast<double>(sums_.decisions);
    }
    if (is_labelled) sums_.accuracy = accuracy_of(correct_, sums_.samples);
    sums_.snr_db = noise_.decibels();
    sums_.is_meaningful = noise_.saw_only_finite();
    return sums_;
  }

 private:
  void add_decisions(const Tensor& reference, const Tensor& actual,
                     const std::optional<Tensor>& labels) {
    const std::int64_t batch = actual.dims().empty() ? 1 : actual.dims().front();
    const std::int64_t samples = labels ? labels->elements() : batch;
    const auto wanted = first_samples(decisions_of(reference), samples, batch);
    const auto decided = first_samples(decisions_of(actual), samples, batch);
    equal_ += count_equal(decided, wanted);
    if (labels) correct_ += count_equal(decided, labels->to_vector<std::int64_t>());
    sums_.decisions += static_cast<std::int64_t>(decided.size());
    sums_.samples += samples;
  }

  SignalToNoise noise_;
  std::int64_t equal_ = 0;
  std::int64_t correct_ = 0;
  VariantQuality sums_;
};

}  // namespace

void SignalToNoise::add(std::span<const double> reference, std::span<const double> actual) {
  for (std::size_t i = 0; i < std::min(reference.size(), actual.size()); ++i) {
    const double expected = reference[i];
    saw_only_finite_ = saw_only_finite_ && std::isfinite(expected);
    if (!std::isfinite(expected)) continue;
    const double error = std::isfinite(actual[i]) ? expected - actual[i] : expected;
    signal_ += expected * expected;
    noise_ += error * error;
  }
}

std::optional<double> SignalToNoise::decibels() const {
  if (noise_ <= 0) return {};
  constexpr double kFloor = 1e-30;  // a signal of zeros
  return 10 * std::log10(std::max(signal_, kFloor) / noise_);
}

std::vector<std::int64_t> decisions_of(const Tensor& scores) {
  if (scores.elements() == 0) return {};
  const std::vector<double> numbers = scores.to_double();
  const std::span<const std::int64_t> dims = scores.dims();
  const std::size_t axis = class_axis(scores);
  const std::int64_t classes = dims.empty() ? 1 : dims[axis];
  const std::int64_t inner = dims.empty() ? 1 : product(dims.subspan(axis + 1));
  std::vector<std::int64_t> decisions;
  for (std::int64_t row = 0; row < scores.elements() / classes; ++row) {
    const std::int64_t first = row / inner * classes * inner + row % inner;
    decisions.push_back(largest_of(numbers, {first, inner, classes}));
  }
  return decisions;
}

QualityJudge::QualityJudge(const Graph& original, const OptimizeData& data,
                           const ProgramOptions& program, Progress* progress)
    : data_(data), program_(without_tuning(program)) {
  reference_ = outputs_of(original, progress);
  original_ = compared(reference_);
}

VariantQuality QualityJudge::judge(const Graph& version, Progress* progress) const {
  return compared(outputs_of(version, progress));
}

std::vector<QualityJudge::Outputs> QualityJudge::outputs_of(const Graph& model,
                                                            Progress* progress) const {
  const Graph graph = transform::in_inference_mode(model);
  if (data_.labelled) return labelled_outputs(graph, *data_.labelled, program_, progress);
  std::vector<Outputs> all;
  if (data_.inputs.empty()) return all;
  const auto program = profile::compiled_for(graph, data_.inputs.front(), program_);
  for (const ModelInputs& inputs : data_.inputs) {
    check_not_cancelled(progress);
    all.push_back(results_for(*program, inputs.tensors));
  }
  return all;
}

VariantQuality QualityJudge::compared(const std::vector<Outputs>& actual) const {
  QualitySums sums;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    std::optional<Tensor> labels;
    if (data_.labelled) labels = data_.labelled->batch(static_cast<std::int64_t>(i)).labels;
    sums.add(reference_[i], actual[i], labels);
  }
  return sums.finish(data_.labelled.has_value());
}

}  // namespace assay::optimize
