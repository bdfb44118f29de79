// Both engines agree on every built-in network.
#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/zoo.h"
#include "execute/compare_engines.h"

namespace assay {
namespace {

// Largest error over the largest output: float32 has 24 bits, and Winograd on deep networks costs
// some of them.
constexpr double kZooTolerance = 2e-5;

Graph bound_zoo(const std::string& spec) {
  return bind_inputs(zoo_model(spec), {}).graph;
}

class ZooEngines : public testing::TestWithParam<const char*> {};

TEST_P(ZooEngines, GiveTheSameOutputs) {
  const Difference difference = compare_engines(bound_zoo(GetParam()));
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_TRUE(difference.same_non_finite);
  EXPECT_LE(difference.largest, kZooTolerance) << difference.where;
}

TEST_P(ZooEngines, GiveTheSameOutputsOnTwoThreadsOptimisedForMemory) {
  ProgramOptions options;
  options.cpu.threads = 2;
  options.optimize_for = OptimizeFor::Memory;
  const Difference difference = compare_engines(bound_zoo(GetParam()), options, 7);
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_LE(difference.largest, kZooTolerance) << difference.where;
}

std::string test_name(const testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  for (char& letter : name) {
    if (!isalnum(static_cast<unsigned char>(letter))) letter = '_';
  }
  return name;
}

// The larger ones take minutes in the plain kernels; bench/ compares those with ONNX Runtime.
INSTANTIATE_TEST_SUITE_P(AllOfIt, ZooEngines,
                         testing::Values("small_cnn", "small_cnn_gap", "lenet5", "mlp",
                                         "stream_mlp", "lstm", "encoder:layers=1",
                                         "gpt2_small:length=4,last_only=1", "mobilenet_v2",
                                         "resnet18"),
                         test_name);

}  // namespace
}  // namespace assay
