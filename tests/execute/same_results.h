// Expects that both engines give the same results for inputs that a test chooses, and that the fast
// one leaves nothing to the plain kernels.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "assay/infer.h"
#include "assay/program.h"
#include "compare_engines.h"

namespace assay::test {

inline std::vector<Tensor> results_of(const Inferred& model, const ProgramOptions& options,
                                      const std::vector<Tensor>& inputs) {
  const auto program = compile(model, options);
  program->set_inputs(inputs);
  program->run();
  program->run();  // a second run meets the arena as the first one left it
  return program->results();
}

inline void expect_same_results(const Graph& graph, const std::vector<Tensor>& inputs,
                                const std::string& what, double tolerance = 0) {
  const Inferred model = infer_shapes(graph);
  const auto expected = results_of(model, {.engine = "reference"}, inputs);
  for (const int threads : {1, 2}) {
    const ProgramOptions options{.cpu = {.threads = threads}};
    const Difference difference = compare_results(results_of(model, options, inputs), expected);
    EXPECT_TRUE(difference.same_shapes) << what;
    EXPECT_TRUE(difference.same_non_finite) << what;
    EXPECT_LE(difference.largest, tolerance) << what << " " << difference.where;
    const auto program = compile(model, options);
    for (const StepInfo& step : program->steps())
      EXPECT_EQ(step.fell_back, "") << what << " " << step.op;
  }
}

// The error that running gives; empty if there is none.
inline std::string error_of(const Graph& graph, const std::vector<Tensor>& inputs,
                            const std::string& engine) {
  try {
    results_of(infer_shapes(graph), {.engine = engine}, inputs);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Random content: the same for the same seed.
class Content {
 public:
  explicit Content(std::uint64_t seed) : generator_(seed) {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(generator_);
  }

  // Whole numbers from `least` to `most`, in any type.
  Tensor tensor(DataType type, const std::vector<std::int64_t>& dims, std::int64_t least,
                std::int64_t most) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    switch (type) {
      case DataType::Float32:
        return of<float>(type, dims, count, least, most);
      case DataType::Float64:
        return of<double>(type, dims, count, least, most);
      case DataType::Int8:
        return of<std::int8_t>(type, dims, count, least, most);
      case DataType::Bool:
      case DataType::UInt8:
        return of<std::uint8_t>(type, dims, count, least, most);
      case DataType::Int32:
        return of<std::int32_t>(type, dims, count, least, most);
      default:
        return of<std::int64_t>(type, dims, count, least, most);
    }
  }

 private:
  template <typename T>
  Tensor of(DataType type, const std::vector<std::int64_t>& dims, std::int64_t count,
            std::int64_t least, std::int64_t most) {
    std::vector<T> numbers;
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<T>(number(least, most)));
    return Tensor::of<T>(type, dims, numbers);
  }

  std::mt19937_64 generator_;
};

}  // namespace assay::test
