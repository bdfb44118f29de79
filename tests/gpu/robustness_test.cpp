// What can go wrong while a program is compiled and run on the GPU: it is said in words that help,
// and nothing stays allocated.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "assay/bind.h"
#include "assay/builder.h"
#include "assay/error.h"
#include "assay/progress.h"
#include "assay/training_step.h"
#include "assay/zoo.h"
#include "execute/compare_engines.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

Inferred training_of(const char* network) {
  const Inferred model = infer_shapes(bind_inputs(zoo_model(network), {.batch = 2}).graph);
  return infer_shapes(training_step(model, trainable_parameters(model)).graph);
}

// The error of compiling and running; nothing if it works.
std::optional<Error> failure_of(const Inferred& model, ProgramOptions options = {}) {
  options.engine = kCudaEngine;
  try {
    const auto program = compile(model, options);
    program->set_inputs(random_inputs(program->inputs(), 1));
    program->set_state(random_inputs(program->state(), 1));
    for (int i = 0; i < 3; ++i) program->run();
    program->results();
  } catch (const Error& error) {
    return error;
  }
  return {};
}

class CudaFailure : public testing::Test {
 protected:
  void SetUp() override { fake_device(); }
};

TEST_F(CudaFailure, OfAnyAllocationSaysWhatWasTooLargeAndLeavesNothing) {
  const Inferred model = training_of("lenet5");
  const auto first = failure_of(model);  // chooses algorithms, and keeps kernels
  ASSERT_FALSE(first) << first->what();
  const std::int64_t bytes = fake_live_bytes();
  const std::int64_t objects = fake_live_objects();
  int failures = 0;
  for (int nth = 1; nth < 60; ++nth) {
    const FakeSetting failing("FAKE_CUDA_FAILING_ALLOCATION", std::to_string(nth));
    const auto error = failure_of(model);
    EXPECT_EQ(fake_live_bytes(), bytes) << nth;
    EXPECT_EQ(fake_live_objects(), objects) << nth;
    if (!error) break;
    ++failures;
    EXPECT_EQ(error->kind(), ErrorKind::BadInput) << error->what();
    EXPECT_NE(std::string(error->what()).find("try a smaller batch or input"), std::string::npos)
        << error->what();
  }
  EXPECT_GT(failures, 1);
  EXPECT_LT(failures, 59);
}

TEST_F(CudaFailure, OfAKernelNamesTheCallAndLeavesNothing) {
  const Inferred model = infer_shapes(zoo_model("mlp"));
  ASSERT_FALSE(failure_of(model));
  const std::int64_t bytes = fake_live_bytes();
  for (const char* setting : {"FAKE_CUDA_FAILING_LAUNCH", "FAKE_CUDA_FAILING_WAIT"}) {
    for (int nth = 1; nth < 8; ++nth) {
      const FakeSetting failing(setting, std::to_string(nth));
      const auto error = failure_of(model);
      EXPECT_EQ(fake_live_bytes(), bytes) << setting << " " << nth;
      if (!error) break;
      EXPECT_NE(std::string(error->what()).find("failed: CUDA_ERROR_ILLEGAL_ADDRESS"),
                std::string::npos)
          << error->what();
    }
  }
}

// Nothing works after such an error, so no other candidate is tried.
TEST_F(CudaFailure, OfACandidateNamesItAndItsStep) {
  const FakeSetting libraries("FAKE_CUDA_LIBRARIES", "1");
  const Inferred model = infer_shapes(zoo_model("lenet5"));
  const auto file = std::filesystem::path(testing::TempDir()) / "assay-failing.tuning";
  std::string last;
  for (int nth = 1; nth < 60 && last.find("trying '") == std::string::npos; ++nth) {
    const FakeSetting failing("FAKE_CUDA_FAILING_WAIT", std::to_string(nth));
    std::filesystem::remove(file);
    const auto error = failure_of(model, {.tuning_file = file.string()});
    if (!error) break;
    last = error->what();
  }
  EXPECT_NE(last.find("' for step '"), std::string::npos) << last;
}

// Says that it is cancelled from its nth question on.
class Impatient final : public Progress {
 public:
  explicit Impatient(int patience) : patience_(patience) {}
  void report(double, std::string_view) override {}
  bool cancelled() const override { return --patience_ < 0; }

 private:
  mutable int patience_;
};

TEST_F(CudaFailure, WhenInterruptedLeavesNothing) {
  const Inferred model = infer_shapes(zoo_model("mlp"));
  ASSERT_FALSE(failure_of(model));
  const std::int64_t bytes = fake_live_bytes();
  const std::int64_t objects = fake_live_objects();
  for (const int patience : {0, 1, 2, 4}) {
    Impatient progress(patience);
    EXPECT_THROW(compile(model, {.engine = kCudaEngine}, &progress), Error) << patience;
    EXPECT_EQ(fake_live_bytes(), bytes) << patience;
    EXPECT_EQ(fake_live_objects(), objects) << patience;
  }
}

struct PickingCase {
  const char* name = "";
  const char* op = "Gather";
  Ints dims = {};  // of the indices
  Ints right = {};
  Ints wrong = {};
  std::vector<Attribute> attributes = {};
  bool has_updates = false;
};

Graph picking(const PickingCase& one) {
  GraphBuilder builder("picking", 1, 17);
  std::vector<ValueId> inputs = {builder.input("data", DataType::Float32, Shape{4, 3}),
                                 builder.input("indices", DataType::Int64, Shape(one.dims))};
  if (one.has_updates) inputs.push_back(builder.input("updates", DataType::Float32, Shape{2, 3}));
  builder.output(builder.node(one.op, "pick", inputs, one.attributes), "y");
  return builder.finish();
}

std::string message_of(const PickingCase& one, const std::string& engine, const Ints& indices) {
  const auto program = compile(infer_shapes(picking(one)), {.engine = engine});
  auto inputs = random_inputs(program->inputs(), 1);
  inputs[1] = Tensor::of_int64(one.dims, indices);
  program->set_inputs(inputs);
  try {
    program->run();
    program->results();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "";
}

class CudaIndices : public testing::TestWithParam<PickingCase> {
 protected:
  void SetUp() override { fake_device(); }
};

TEST_P(CudaIndices, OutsideAreToldAsByTheReference) {
  const PickingCase one = GetParam();
  EXPECT_EQ(message_of(one, kCudaEngine, one.right), "");
  const std::string message = message_of(one, kCudaEngine, one.wrong);
  EXPECT_NE(message, "");
  EXPECT_EQ(message, message_of(one, "reference", one.wrong));
}

INSTANTIATE_TEST_SUITE_P(
    Ops, CudaIndices,
    testing::Values(PickingCase{"gather", "Gather", {2}, {-4, 3}, {1, 4}},
                    PickingCase{"gather_from_the_end", "Gather", {2}, {-4, 3}, {-5, 1}},
                    PickingCase{"gather_elements", "GatherElements", {1, 3}, {0, 3, -1}, {0, 7, 1}},
                    PickingCase{"gather_tuples", "GatherND", {2, 2}, {3, 2, -1, 0}, {0, 1, 3, 3}},
                    PickingCase{"scatter_tuples", "ScatterND", {2, 1}, {0, 3}, {0, 9}, {}, true},
                    PickingCase{"added_tuples",
                                "ScatterND",
                                {2, 1},
                                {0, 3},
                                {0, 9},
                                {{"reduction", std::string("add")}},
                                true},
                    PickingCase{"scatter_elements",
                                "ScatterElements",
                                {2, 3},
                                {0, 1, 2, 3, 3, 3},
                                {0, 1, 2, 3, 3, 4},
                                {},
                                true}),
    [](const testing::TestParamInfo<PickingCase>& tested) { return tested.param.name; });

TEST_F(CudaFailure, ARunAfterAWrongIndexIsFine) {
  const PickingCase one{"gather", "Gather", {2}, {0, 3}, {0, 4}};
  const auto program = compile(infer_shapes(picking(one)), {.engine = kCudaEngine});
  auto inputs = random_inputs(program->inputs(), 1);
  const auto run = [&](const Ints& indices) {
    inputs[1] = Tensor::of_int64(one.dims, indices);
    program->set_inputs(inputs);
    program->run();
    program->run();
    return program->results();
  };
  EXPECT_NO_THROW(run(one.right));
  EXPECT_THROW(run(one.wrong), Error);
  EXPECT_NO_THROW(run(one.right));
}

}  // namespace
}  // namespace assay
