// A run allocates nothing: every operator new of this program is counted while a model runs.
// oneDNN allocates a small table in each call, which is its own affair.
#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "execute/counted_new.h"

namespace assay {
namespace {

struct AllocationCase {
  std::string network;
  OptimizeFor goal = OptimizeFor::Latency;
  int threads = 1;
};

class Allocation : public testing::TestWithParam<AllocationCase> {};

std::string algorithms_of(const Program& program) {
  std::string text;
  for (const StepInfo& step : program.steps()) text += step.name + ": " + step.algorithm + "\n";
  return text;
}

TEST_P(Allocation, NoneInARunOnceTheFirstIsOver) {
  const AllocationCase& one = GetParam();
  const auto program = compile(infer_shapes(bind_inputs(zoo_model(one.network), {}).graph),
                               {.optimize_for = one.goal, .cpu = {.threads = one.threads}});
  for (const StepInfo& step : program->steps()) ASSERT_EQ(step.fell_back, "") << step.name;
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  EXPECT_EQ(test::allocations_in([&] { program->run(); }), 0) << algorithms_of(*program);
}

std::vector<AllocationCase> allocation_cases() {
  std::vector<AllocationCase> all;
  for (const int threads : {1, 2}) {
    for (const char* small : {"mlp", "small_cnn", "lenet5", "lstm", "encoder:layers=1"}) {
      all.push_back({small, OptimizeFor::Latency, threads});
    }
    // Timing the algorithms of these would take long.
    for (const char* large : {"mobilenet_v2", "resnet18"}) {
      all.push_back({large, OptimizeFor::Memory, threads});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Allocation, testing::ValuesIn(allocation_cases()),
                         [](const auto& one) {
                           std::string name =
                               one.param.network + "_on_" + std::to_string(one.param.threads);
                           for (char& letter : name) {
                             if (!isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           }
                           return name;
                         });

TEST(AllocationCount, SeesWhatAProgramAllocates) {
  const auto program = compile(infer_shapes(zoo_model("mlp")), {.engine = "reference"});
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  EXPECT_GT(test::allocations_in([&] { program->run(); }), 0);
}

}  // namespace
}  // namespace assay
