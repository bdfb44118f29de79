// Which of the candidates computes a step: by the fake GPU's clock, so that it does not depend on
// how fast this machine is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/builder.h"
#include "assay/infer.h"
#include "assay/program.h"
#include "gpu/fake_device.h"
#include "support/error_message.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

Graph convolutions() {
  GraphBuilder build("convolutions");
  const ValueId x = build.input("x", DataType::Float32, Shape{2, 8, 6, 6});
  const auto conv = [&](const std::string& name, ValueId from, Ints dims,
                        std::vector<Attribute> attributes, const char* op = "Conv") {
    const ValueId weight = build.weight(name + ".weight", dims, 0.3);
    const ValueId bias = build.weight(name + ".bias", {16}, 0.3);
    return build.node(op, name, {from, weight, bias}, std::move(attributes));
  };
  const ValueId first =
      build.node("Relu", "relu1", {conv("wide", x, {16, 8, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}})});
  const ValueId second = conv("pointwise", first, {16, 16, 1, 1}, {});
  const ValueId sum = build.node("Add", "sum", {second, first});
  const ValueId relu = build.node("Relu", "relu2", {sum});
  const ValueId depthwise = conv("depthwise", relu, {16, 1, 3, 3},
                                 {{"group", std::int64_t{16}}, {"pads", Ints{1, 1, 1, 1}}});
  const ValueId gate = build.node("Sigmoid", "gate", {depthwise});
  const ValueId swish = build.node("Mul", "swish", {depthwise, gate});
  const ValueId strided =
      conv("strided", swish, {16, 16, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}});
  build.output(
      conv("transposed", strided, {16, 16, 2, 2}, {{"strides", Ints{2, 2}}}, "ConvTranspose"), "y");
  return build.finish();
}

Graph products() {
  GraphBuilder build("products");
  const ValueId x = build.input("x", DataType::Float32, Shape{3, 5, 12});
  const ValueId up = build.node("MatMul", "up", {x, build.weight("up.weight", {12, 20}, 0.3)});
  const ValueId biased = build.node("Add", "biased", {up, build.weight("up.bias", {20}, 0.3)});
  const ValueId gelu = build.node("Relu", "relu", {biased});
  const ValueId down =
      build.node("MatMul", "down", {gelu, build.weight("down.weight", {20, 12}, 0.3)});
  const ValueId sum = build.node("Add", "sum", {down, x});
  const ValueId turned = build.node("Transpose", "turned", {sum}, {{"perm", Ints{0, 2, 1}}});
  const ValueId scores = build.node("MatMul", "scores", {sum, turned});
  const ValueId flat = build.node("Reshape", "flat", {scores, build.ints("shape", {3, 25})});
  build.output(build.node("Gemm", "classifier",
                          {flat, build.weight("classifier.weight", {7, 25}, 0.3),
                           build.weight("classifier.bias", {7}, 0.3)},
                          {{"transB", std::int64_t{1}}, {"alpha", 0.5f}}),
               "y");
  return build.finish();
}

class LibraryChoice : public testing::Test {
 protected:
  ~LibraryChoice() override { std::filesystem::remove(file_); }

  std::unique_ptr<Program> compiled(const Graph& graph, ProgramOptions options = {}) const {
    options.engine = "cuda";
    options.tuning_file = file_.string();
    return compile(infer_shapes(graph), options);
  }

  // The worst difference of two runs from the reference engine's, the second of which is captured.
  static double difference(const Graph& graph, Program& program) {
    const auto reference = compile(infer_shapes(graph), {.engine = "reference"});
    const auto inputs = random_inputs(program.inputs());
    double worst = 0;
    for (int run = 0; run < 2; ++run) {
      for (Program* one : {reference.get(), &program}) {
        one->set_inputs(inputs);
        one->run();
      }
      const auto expected = reference->results()[0].to_double();
      const auto computed = program.results()[0].to_double();
      for (std::size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(expected[i] - computed[i]));
    }
    return worst;
  }

  // Of all choices in the tuning file, which knows no kernels then.
  void set_answers(const std::string& answer) const {
    std::stringstream lines;
    lines << std::ifstream(file_).rdbuf();
    std::ofstream changed(file_);
    std::string line;
    std::getline(lines, line);
    changed << line << '\n';
    while (std::getline(lines, line)) {
      const auto tab = line.find('\t');
      const std::string question = line.substr(tab + 1, line.rfind('\t') - tab - 1);
      if (question.starts_with("kernels of ")) continue;
      const std::string machine = line.substr(0, tab + 1);
      changed << machine << question << '\t' << answer << '\n';
      changed << machine << "kernels of " << answer << ": " << question << "\t\n";
    }
  }

  static std::vector<StepInfo> steps_of(const Program& program, std::string_view op) {
    std::vector<StepInfo> found;
    for (const StepInfo& step : program.steps())
      if (step.op == op) found.push_back(step);
    return found;
  }

  // What is told of cuDNN's engine, whose kernel has this name.
  StepInfo step_by_engine_that_launches(const char* name) const {
    const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
    const FakeSetting slow_workspaces("FAKE_CUDA_WORKSPACE_MS", "50");
    const FakeSetting kernel("FAKE_CUDA_ENGINE_KERNEL", name);
    GraphBuilder build("one");
    const ValueId x = build.input("x", DataType::Float32, Shape{2, 8, 6, 6});
    build.output(build.node("Conv", "conv", {x, build.weight("weight", {16, 8, 1, 1}, 0.3)},
                            {{"strides", Ints{2, 2}}}),
                 "y");
    return steps_of(*compiled(build.finish()), "Conv")[0];
  }

  FakeSetting libraries_{"FAKE_CUDA_LIBRARIES", "1"};
  std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) /
      ("library_choice_" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(LibraryChoice, TheLibraryConvolvesWhereItIsFaster) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  const Graph graph = convolutions();
  const auto program = compiled(graph);
  const auto steps = steps_of(*program, "Conv");
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(steps[0].algorithm.starts_with("cudnn engine ")) << steps[0].algorithm;
  EXPECT_EQ(steps[0].fell_back, "");
  EXPECT_EQ(steps[0].precision, "fp32");
  for (const StepInfo& step : steps) {
    EXPECT_NE(step.algorithm, "cudnn engine 1") << "it rounds to tf32";
    EXPECT_NE(step.algorithm, "cudnn engine 4") << "it computes something else";
  }
  EXPECT_TRUE(steps_of(*program, "ConvTranspose")[0].algorithm.starts_with("cudnn engine "));
  EXPECT_LT(difference(graph, *program), 1e-4);
}

// What cuDNN runs is told by the names of its kernels, also if the choice is that of an earlier
// process.
TEST_F(LibraryChoice, AlgorithmsOfEnginesAreNamed) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  const FakeSetting slow_workspaces("FAKE_CUDA_WORKSPACE_MS", "50");
  const FakeSetting kernel("FAKE_CUDA_ENGINE_KERNEL", "scudnn_winograd_128x128_ldg1_ldg4_tile148n");
  GraphBuilder build("one");
  const ValueId x = build.input("x", DataType::Float32, Shape{2, 8, 6, 6});
  build.output(build.node("Conv", "conv", {x, build.weight("weight", {16, 8, 3, 3}, 0.3)},
                          {{"pads", Ints{1, 1, 1, 1}}}),
               "y");
  const Graph graph = build.finish();
  for (int again = 0; again < 2; ++again) {
    const auto step = steps_of(*compiled(graph), "Conv")[0];
    EXPECT_EQ(step.algorithm, "cudnn engine 0, winograd 2x2");
    EXPECT_EQ(step.isa, "cuda");
    // 3 · 3 tiles of each image, of 16 products instead of 36.
    const std::int64_t transforms = 2 * 9 * (32 * 8 + 24 * 16) + 28 * 8 * 16;
    EXPECT_EQ(step.executed_flops, 2 * 2 * 9 * 16 * 8 * 16 + transforms);
  }
}

TEST_F(LibraryChoice, AnEngineThatDoesNotSayHowItComputesIsTakenForDirect) {
  const StepInfo step = step_by_engine_that_launches("engine_of_tomorrow");
  EXPECT_EQ(step.algorithm, "cudnn engine 0");
  EXPECT_EQ(step.isa, "");
  EXPECT_EQ(step.executed_flops, 2 * 2 * 3 * 3 * 8 * 16);
}

TEST_F(LibraryChoice, AnFftIsNotCounted) {
  const StepInfo step = step_by_engine_that_launches("fft2d_r2c_32x32");
  EXPECT_EQ(step.algorithm, "cudnn engine 0, fft");
  EXPECT_EQ(step.isa, "");
  EXPECT_EQ(step.executed_flops, 0);
}

TEST_F(LibraryChoice, OurKernelsConvolveWhereTheyAreFaster) {
  const FakeSetting slow_library("FAKE_CUDA_LIBRARY_MS", "50");
  const Graph graph = convolutions();
  const auto program = compiled(graph);
  for (const StepInfo& step : steps_of(*program, "Conv"))
    EXPECT_TRUE(step.algorithm.starts_with("own ")) << step.algorithm;
  EXPECT_LT(difference(graph, *program), 1e-4);
}

TEST_F(LibraryChoice, TheLibraryMultipliesWhereItIsFaster) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  const Graph graph = products();
  const auto program = compiled(graph);
  const auto products = steps_of(*program, "MatMul");
  ASSERT_EQ(products.size(), 3u);
  for (const StepInfo& step : products)
    EXPECT_TRUE(step.algorithm == "cublaslt 7" || step.algorithm == "cublaslt 11")
        << step.name << ": " << step.algorithm;
  // The bias and the activation are the library's, the sum with x too.
  EXPECT_EQ(products[0].layers.size(), 3u);
  EXPECT_EQ(products[1].layers.size(), 2u);
  EXPECT_TRUE(steps_of(*program, "Gemm")[0].algorithm.starts_with("cublaslt "));
  EXPECT_LT(difference(graph, *program), 1e-4);
}

TEST_F(LibraryChoice, IsTakenFromTheTuningFile) {
  const Graph graph = products();
  std::string chosen;
  {
    const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
    chosen = steps_of(*compiled(graph), "MatMul")[0].algorithm;
  }
  const FakeSetting slow_library("FAKE_CUDA_LIBRARY_MS", "50");
  const auto again = compiled(graph);
  EXPECT_EQ(steps_of(*again, "MatMul")[0].algorithm, chosen);
  EXPECT_LT(difference(graph, *again), 1e-4);
}

TEST_F(LibraryChoice, Tf32IsComputedWhereItIsAskedFor) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  ProgramOptions options{.engine = "cuda"};
  set_precision(options, "tf32");
  EXPECT_EQ(asked_precision(options), "tf32");
  const auto program = compiled(convolutions(), options);
  EXPECT_EQ(steps_of(*program, "Conv")[0].precision, "tf32");
  const auto multiplied = compiled(products(), options);
  EXPECT_EQ(steps_of(*multiplied, "MatMul")[0].precision, "tf32");
}

TEST_F(LibraryChoice, Tf32IsRefusedOnTheProcessor) {
  ProgramOptions options;
  EXPECT_EQ(error_message([&] { set_precision(options, "tf32"); }),
            "`precision` tf32 requires the engine cuda: only the tensor cores of a GPU compute in "
            "it");
}

TEST_F(LibraryChoice, HalvesAreConvolvedAndMultiplied) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  for (const DataType type : {DataType::Float16, DataType::BFloat16}) {
    for (const Graph& graph : {convolutions(), products()}) {
      ProgramOptions options;
      options.precision = type;
      const auto program = compiled(graph, options);
      EXPECT_LT(difference(graph, *program), type == DataType::Float16 ? 0.02 : 0.2);
    }
  }
}

// Of 3 channels, which tensor cores of 16 bits would like to be 8.
TEST_F(LibraryChoice, ImagesMayBePadded) {
  GraphBuilder build("first_layer");
  const ValueId x = build.input("x", DataType::Float32, Shape{2, 3, 6, 6});
  build.output(
      build.node("Conv", "conv",
                 {x, build.weight("weight", {16, 3, 3, 3}, 0.3), build.weight("bias", {16}, 0.3)},
                 {{"pads", Ints{1, 1, 1, 1}}}),
      "y");
  const Graph graph = build.finish();
  ProgramOptions options;
  options.precision = DataType::Float16;
  (void)compiled(graph, options);
  set_answers("cudnn engine 2 2=1 (padded) + element-wise of 0 and bias");
  const auto program = compiled(graph, options);
  EXPECT_EQ(steps_of(*program, "Conv")[0].algorithm,
            "cudnn engine 2, winograd 4x4 (padded) + element-wise");
  EXPECT_LT(difference(graph, *program), 0.02);
}

// Blocks of 2 × 2 pixels become the channels of an image of half the size.
TEST_F(LibraryChoice, ImagesMayBeFolded) {
  for (const auto& [kernel, pad] : {std::pair{7, 3}, std::pair{3, 1}, std::pair{2, 0}}) {
    GraphBuilder build("first_layer");
    const ValueId x = build.input("x", DataType::Float32, Shape{2, 3, 12, 10});
    build.output(build.node("Conv", "conv",
                            {x, build.weight("weight", {16, 3, kernel, kernel}, 0.3),
                             build.weight("bias", {16}, 0.3)},
                            {{"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{2, 2}}}),
                 "y");
    const Graph graph = build.finish();
    ProgramOptions options;
    options.precision = DataType::Float16;
    (void)compiled(graph, options);
    set_answers("cudnn engine 2 2=1 + element-wise (folded) of 0 and bias");
    const auto program = compiled(graph, options);
    const std::string algorithm = steps_of(*program, "Conv")[0].algorithm;
    EXPECT_TRUE(algorithm.starts_with("cudnn engine 2, winograd")) << algorithm;
    EXPECT_TRUE(algorithm.ends_with("(folded)")) << algorithm;
    EXPECT_LT(difference(graph, *program), 0.02);
  }
}

// Strides of axes of one element say nothing of where channels lie.
TEST_F(LibraryChoice, AnImageOfOnePixelIsLeftToTheLibrary) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  GraphBuilder build("squeezed");
  const ValueId x = build.input("x", DataType::Float32, Shape{3, 16, 5, 5});
  const ValueId mean = build.node("GlobalAveragePool", "mean", {x});
  build.output(build.node("Conv", "conv",
                          {mean, build.weight("weight", {8, 16, 1, 1}, 0.3),
                           build.weight("bias", {8}, 0.3)}),
               "y");
  const Graph graph = build.finish();
  const auto program = compiled(graph);
  const StepInfo step = steps_of(*program, "Conv")[0];
  const bool is_library = step.algorithm.starts_with("cu");
  EXPECT_TRUE(is_library) << step.algorithm;
  EXPECT_LT(difference(graph, *program), 1e-4);
}

// The swish is not cuDNN's, so that its result lies in a workspace, too.
TEST_F(LibraryChoice, WorkspacesOfACandidateDoNotOverlap) {
  const FakeSetting slow_kernels("FAKE_CUDA_KERNEL_MS", "50");
  const FakeSetting slow_engines("FAKE_CUDA_ENGINE_MS", "50");
  GraphBuilder build("swish");
  const ValueId x = build.input("x", DataType::Float32, Shape{2, 16, 6, 6});
  const ValueId conv =
      build.node("Conv", "conv",
                 {x, build.weight("weight", {16, 16, 3, 3}, 0.3), build.weight("bias", {16}, 0.3)},
                 {{"pads", Ints{1, 1, 1, 1}}});
  build.output(build.node("Mul", "swish", {conv, build.node("Sigmoid", "gate", {conv})}), "y");
  const Graph graph = build.finish();
  const auto program = compiled(graph);
  EXPECT_EQ(steps_of(*program, "Conv")[0].algorithm, "cudnn engine 2, winograd 4x4 + element-wise");
  EXPECT_LT(difference(graph, *program), 1e-4);
}

TEST_F(LibraryChoice, WithoutMeasurementTheLibrarysFirstProposalIsTaken) {
  ProgramOptions options;
  options.optimize_for = OptimizeFor::Memory;
  const auto program = compiled(products(), options);
  EXPECT_EQ(steps_of(*program, "MatMul")[0].algorithm, "cublaslt 7");
}

TEST_F(LibraryChoice, WithoutMemoryForTrialsOurKernelRuns) {
  const auto bytes = std::to_string(fake_live_bytes() + 16 * 16 * 9 * 4 + 2000);
  const FakeSetting small("FAKE_CUDA_MEMORY", bytes);
  GraphBuilder build("large");
  const ValueId x = build.input("x", DataType::Float32, Shape{1, 16, 1, 1});
  build.output(build.node("Conv", "conv", {x, build.weight("weight", {16, 16, 3, 3}, 0.3)},
                          {{"pads", Ints{1, 1, 1, 1}}}),
               "y");
  const Graph graph = build.finish();
  const auto program = compiled(graph);
  const StepInfo step = steps_of(*program, "Conv")[0];
  EXPECT_EQ(step.algorithm, "own tiles");
  EXPECT_EQ(step.fell_back.rfind("trials of algorithms take ", 0), 0u) << step.fell_back;
  EXPECT_LT(difference(graph, *program), 1e-4);
}

}  // namespace
}  // namespace assay
