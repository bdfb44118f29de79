// The accuracy of a classifier on a data set, with its confidence interval.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/graph.h"
#include "assay/loader.h"
#include "assay/program.h"
#include "assay/training_step.h"

namespace assay {

struct Accuracy {
  std::int64_t correct = 0;
  std::int64_t total = 0;
  double value = 0;     // correct / total
  double ci95_low = 0;  // by Wilson: from 0 to 1
  double ci95_high = 0;
};
Accuracy accuracy_of(std::int64_t correct, std::int64_t total);

// Of two models on the same samples.
struct AccuracyDifference {
  double value = 0;     // the second's less the first's
  double ci95_low = 0;  // from the samples that only one of them classifies correctly
  double ci95_high = 0;
};

struct EvaluateOptions {
  Loss loss = Loss::CrossEntropy;
  bool confusion = false;
  ProgramOptions program = {};
};

struct Evaluation {
  Accuracy accuracy = {};
  double loss = 0;  // the mean over all samples
  // By true class, then by predicted class; empty unless requested.
  std::vector<std::vector<std::int64_t>> confusion = {};
  std::vector<bool> is_correct = {};  // of each sample, in the loader's order
};

// Evaluates every sample of the loader, including those of a last batch that is not full. The model
// takes batches of float32 samples and returns a score for each class. For other models, throws an
// Error that names both shapes; for a label out of range, one that names its index and value.
Evaluation evaluate(const Graph& model, const Loader& loader, const EvaluateOptions& options = {},
                    Progress* progress = nullptr);

// Both over the same samples in the same order, otherwise an Error.
AccuracyDifference compare_accuracy(const Evaluation& first, const Evaluation& second);

// correct / total. Device `cpu`, or `cuda`, which must be there; precision `fp32` (the model as it
// is), `bf16` or `fp16`; `int8` is for quantised models.
double evaluate_accuracy(const Graph& model, const Loader& loader, std::string_view device = "cpu",
                         std::string_view precision = "fp32", Progress* progress = nullptr);

// By true class, then by predicted class.
std::vector<std::vector<std::int64_t>> confusion_matrix(const Graph& model, const Loader& loader,
                                                        const ProgramOptions& options = {});

}  // namespace assay
