// Runs a model once: what it is fed, what comes out, and how far that is from what was expected.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/count.h"
#include "assay/program.h"

namespace assay {

struct RunOptions {
  Bindings bindings = {};
  std::map<std::string, Tensor> known_values = {};  // inputs the model is specialised to, by name
  std::map<std::string, Tensor> inputs = {};        // content, by name; others are drawn at random
  std::uint64_t seed = 0;                           // of what is drawn
  ProgramOptions program = {};
};

// Of the finite elements; missing where there is none, or where they are no numbers.
struct TensorSummary {
  std::optional<double> min = {};
  std::optional<double> max = {};
  std::optional<double> mean = {};
  std::int64_t nan_count = 0;
  std::int64_t infinite_count = 0;
};
TensorSummary summarize_tensor(const Tensor& tensor);

struct RunOutput {
  std::string name;
  Tensor tensor;
  TensorSummary summary = {};
};

struct RunResult {
  ModelSummary model;
  ProgramOptions program;  // as asked for; engine and threads as the program has them
  std::uint64_t seed = 0;
  double compile_ms = 0;
  double run_ms = 0;  // of this one, first run
  std::vector<RunOutput> outputs;
  std::vector<std::string> warnings;
};

RunResult run_model(Graph graph, std::string name, const RunOptions& options = {},
                    Progress* progress = nullptr);

// An element agrees when |actual - expected| <= absolute + relative·|expected|; NaN agrees with
// NaN.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-5;
};

struct TensorDifference {
  std::string mismatch = "";    // why they cannot be compared: other type, other shape
  std::int64_t differing = 0;   // elements outside the tolerance
  double largest_absolute = 0;  // over all pairs of numbers
  double largest_relative = 0;  // where the expected one is larger than the tolerance
  bool agrees() const { return mismatch.empty() && differing == 0; }
};
TensorDifference tensor_difference(const Tensor& actual, const Tensor& expected,
                                   const Tolerance& tolerance = {});

}  // namespace assay
