#include "assay/accuracy.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "stats/proportion.h"
#include "train/bound_model.h"
#include "train/scores.h"
#include "train/target.h"
#include "transform/inference_mode.h"

namespace assay {

using namespace assay::train;

namespace {

// Sums up over batches.
class Judge {
 public:
  Judge(const BoundModel& model, const Dataset& data, const EvaluateOptions& options)
      : loss_(options.loss), kind_(kind_of_scores(model.model.graph)), outputs_(model.outputs) {
    if (!options.confusion) return;
    const auto bytes = data.classes * outputs_ * std::int64_t{sizeof(std::int64_t)};
    check_memory_for(bytes, [] { return "a confusion matrix"; });
    sums_.confusion.assign(static_cast<std::size_t>(data.classes),
                           std::vector<std::int64_t>(static_cast<std::size_t>(outputs_), 0));
  }

  void add(const Tensor& scores, const Tensor& labels) {
    const auto numbers = scores.to_double();
    const auto width = static_cast<std::size_t>(outputs_);
    std::span<const double> rest = numbers;
    for (const std::int64_t label : labels.to_vector<std::int64_t>()) {
      add(rest.first(width), label);
      rest = rest.subspan(width);
    }
  }

  Evaluation finish() && {
    sums_.accuracy = accuracy_of(correct_, total_);
    sums_.loss = sum_of_losses_ / static_cast<double>(total_);
    return std::move(sums_);
  }

 private:
  void add(std::span<const double> scores, std::int64_t label) {
    const std::int64_t predicted = predicted_class(scores);
    sum_of_losses_ += loss_of(loss_, kind_, scores, label);
    correct_ += predicted == label ? 1 : 0;
    sums_.is_correct.push_back(predicted == label);
    ++total_;
    if (sums_.confusion.empty()) return;
    ++sums_.confusion[static_cast<std::size_t>(label)][static_cast<std::size_t>(predicted)];
  }

  Loss loss_ = Loss::CrossEntropy;
  ScoreKind kind_ = ScoreKind::Scores;
  std::int64_t outputs_ = 0;
  std::int64_t correct_ = 0;
  std::int64_t total_ = 0;
  double sum_of_losses_ = 0;
  Evaluation sums_;
};

}  // namespace

Accuracy accuracy_of(std::int64_t correct, std::int64_t total) {
  const stats::Interval interval = stats::wilson_interval(correct, total);
  return {.correct = correct,
          .total = total,
          .value = total == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(total),
          .ci95_low = interval.low,
          .ci95_high = interval.high};
}

Evaluation evaluate(const Graph& model, const Loader& loader, const EvaluateOptions& options,
                    Progress* progress) {
  const std::int64_t batch_size = loader.batch(0).labels.elements();
  BoundModel bound =
      bind_to_data(transform::in_inference_mode(model), loader.dataset(), batch_size);
  Judge judge(bound, loader.dataset(), options);
  const auto program = compile(std::move(bound.model), options.program, progress);
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    if (progress != nullptr && progress->cancelled()) {
      throw Error(ErrorKind::Cancelled, "stopped while the model was evaluated");
    }
    const Batch batch = loader.batch(i);
    program->set_inputs(std::vector{fitted_samples(batch.samples, bound)});
    program->run();
    judge.add(program->results().front(), batch.labels);
  }
  return std::move(judge).finish();
}

AccuracyDifference compare_accuracy(const Evaluation& first, const Evaluation& second) {
  const std::size_t total = first.is_correct.size();
  if (total != second.is_correct.size()) {
    fail_usage("accuracies over {} and {} samples: both models need the same", total,
               second.is_correct.size());
  }
  std::int64_t gained = 0;
  std::int64_t lost = 0;
  for (std::size_t i = 0; i < total; ++i) {
    gained += !first.is_correct[i] && second.is_correct[i] ? 1 : 0;
    lost += first.is_correct[i] && !second.is_correct[i] ? 1 : 0;
  }
  const auto count = static_cast<std::int64_t>(total);
  const stats::Interval interval = stats::paired_difference_interval(gained, lost, count);
  return {second.accuracy.value - first.accuracy.value, interval.low, interval.high};
}

double evaluate_accuracy(const Graph& model, const Loader& loader, std::string_view device,
                         std::string_view precision, Progress* progress) {
  const EvaluateOptions options{.program = in_precision(on_device({}, device), precision)};
  return evaluate(model, loader, options, progress).accuracy.value;
}

std::vector<std::vector<std::int64_t>> confusion_matrix(const Graph& model, const Loader& loader,
                                                        const ProgramOptions& options) {
  return evaluate(model, loader, {.confusion = true, .program = options}).confusion;
}

}  // namespace assay
