// Convolutions of float32 by kernels of our own, each compared with the reference engine where the
// tuning file says that it is the fastest.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/builder.h"
#include "assay/infer.h"
#include "assay/program.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

class OwnConvolution : public testing::Test {
 protected:
  ~OwnConvolution() override { std::filesystem::remove(file_); }

  static Graph convolution(const Ints& image, const Ints& weight, std::vector<Attribute> attributes,
                           bool adds_input = false) {
    GraphBuilder build("convolution");
    const ValueId x = build.input("x", DataType::Float32, Shape(image));
    ValueId y =
        build.node("Conv", "conv",
                   {x, build.weight("weight", weight, 0.3), build.weight("bias", {weight[0]}, 0.3)},
                   std::move(attributes));
    if (adds_input) y = build.node("Add", "sum", {y, x});
    build.output(build.node("Relu", "relu", {y}), "y");
    return build.finish();
  }

  std::unique_ptr<Program> compiled(const Graph& graph) const {
    return compile(infer_shapes(graph), {.engine = kCudaEngine, .tuning_file = file_.string()});
  }

  // Makes this candidate the answer to the only question.
  void choose(const std::string& key) const {
    std::stringstream lines;
    lines << std::ifstream(file_).rdbuf();
    std::string first;
    std::string line;
    std::getline(lines, first);
    while (std::getline(lines, line) && line.find("\tkernels of ") != std::string::npos) {
    }
    const auto tab = line.find('\t');
    const std::string machine = line.substr(0, tab + 1);
    const std::string question = line.substr(tab + 1, line.rfind('\t') - tab - 1);
    std::ofstream(file_) << first << '\n'
                         << machine << question << '\t' << key << '\n'
                         << machine << "kernels of " << key << ": " << question << "\t\n";
  }

  static double difference(const Graph& graph, Program& program) {
    const auto reference = compile(infer_shapes(graph), {.engine = "reference"});
    const auto inputs = random_inputs(program.inputs());
    for (Program* one : {reference.get(), &program}) {
      one->set_inputs(inputs);
      one->run();
    }
    const auto expected = reference->results()[0].to_double();
    const auto computed = program.results()[0].to_double();
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(expected[i] - computed[i]));
    return worst;
  }

  static StepInfo step_of(const Program& program) {
    return *std::ranges::find(program.steps(), "Conv", &StepInfo::op);
  }

  void expect_exact(const Graph& graph, const std::string& key) const {
    (void)compiled(graph);
    choose(key);
    const auto program = compiled(graph);
    EXPECT_EQ(step_of(*program).algorithm, key);
    EXPECT_LT(difference(graph, *program), 1e-4) << key;
  }

  std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) /
      ("own_convolution_" +
       std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(OwnConvolution, SumsInPartsAreAddedUp) {
  const Graph graph =
      convolution({2, 16, 6, 6}, {16, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true);
  expect_exact(graph, "own implicit gemm 64x64 in 2 parts");
}

TEST_F(OwnConvolution, WindowsMayLieApart) {
  expect_exact(convolution({1, 20, 9, 7}, {24, 20, 1, 1}, {{"strides", Ints{2, 2}}}),
               "own implicit gemm 64x64");
}

TEST_F(OwnConvolution, ThreeChannelsAreCopiedOneByOne) {
  expect_exact(
      convolution({2, 3, 11, 9}, {16, 3, 3, 3},
                  {{"pads", Ints{2, 1, 1, 2}}, {"strides", Ints{2, 1}}, {"dilations", Ints{2, 1}}}),
      "own implicit gemm 64x64");
}

TEST_F(OwnConvolution, ImagesMayHaveOneAxis) {
  expect_exact(convolution({1, 16, 30}, {16, 16, 3}, {{"pads", Ints{1, 1}}}),
               "own implicit gemm 64x64");
}

TEST_F(OwnConvolution, ImagesMayHaveThreeAxes) {
  expect_exact(convolution({1, 16, 3, 4, 5}, {20, 16, 1, 2, 2}, {}), "own implicit gemm 64x64");
}

TEST_F(OwnConvolution, TilesOfWinogradCoverTheEdges) {
  expect_exact(convolution({2, 16, 6, 6}, {16, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true),
               "own winograd 4x4");
}

TEST_F(OwnConvolution, WinogradKnowsItsPadding) {
  const Graph graph = convolution({1, 16, 9, 7}, {24, 16, 3, 3}, {{"pads", Ints{0, 1, 1, 2}}});
  expect_exact(graph, "own winograd 4x4");
  // 2 · 2 tiles of 36 products for each pair of channels, less than the definition's 8 · 8 · 9.
  const StepInfo step = step_of(*compiled(graph));
  const std::int64_t transforms = 4 * (144 * 16 + 100 * 24) + 72 * 16 * 24;
  const std::int64_t relu = 8 * 8 * 24;
  EXPECT_EQ(step.executed_flops, 2 * 4 * 36 * 16 * 24 + transforms + relu);
}

}  // namespace
}  // namespace assay
