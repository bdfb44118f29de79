#include "cli/compare_accuracy.h"

#include <algorithm>

#include "assay/accuracy.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

struct EvaluatedSide {
  Evaluation evaluation;
  std::string dataset;
};

EvaluatedSide evaluated(const ComparedModel& model, const DataArguments& data, Progress& progress,
                        std::vector<std::string>& warnings) {
  RunOptions run;
  apply_engine_options(model.engine, run);
  ModelArguments named;
  named.model = model.model;
  named.weights = model.shapes.weights;
  const Graph graph = requested_model(named).graph;
  const Dataset samples = test_data(data, graph, run.seed, warnings);
  const Loader loader(samples,
                      {.batch_size = std::min(kEvaluationBatch, samples.size()), .shuffle = false});
  return naming_model(model.model, [&] {
    return EvaluatedSide{evaluate(graph, loader, {.program = run.program}, &progress),
                         samples.name};
  });
}

}  // namespace

std::optional<ComparedAccuracy> compared_accuracy(const ComparedModels& models,
                                                  const DataArguments& data, Progress& progress,
                                                  std::vector<std::string>& warnings) {
  if (data.dataset.empty()) return {};
  std::vector<std::string> same_again;
  const EvaluatedSide a = evaluated(models.a, data, progress, warnings);
  const EvaluatedSide b = evaluated(models.b, data, progress, same_again);
  const AccuracyDifference difference = compare_accuracy(a.evaluation, b.evaluation);
  const Accuracy& accuracy = b.evaluation.accuracy;
  return ComparedAccuracy{.a = a.evaluation.accuracy.value,
                          .b = accuracy.value,
                          .b_ci95 = {accuracy.ci95_low, accuracy.ci95_high},
                          .difference_ci95 = {difference.ci95_low, difference.ci95_high},
                          .samples = accuracy.total,
                          .dataset = b.dataset};
}

}  // namespace assay::cli
