// Models in 16 bits: both engines agree, bytes are half, nothing falls back. Tolerances are of the
// largest output: bfloat16 has 8 bits and float16 11, and the plain kernels round after every op
// where the fast engine may not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "assay/bind.h"
#include "assay/onnx.h"
#include "assay/precision.h"
#include "assay/text_form.h"
#include "assay/zoo.h"
#include "base/instruction_set.h"
#include "execute/compare_engines.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/simd/winograd16.h"
#include "execute/emulated.h"
#include "execute/preferred_choice.h"
#include "execute/random_graph.h"
#include "support/error_message.h"

namespace assay {
namespace {

constexpr DataType kHalves[] = {DataType::BFloat16, DataType::Float16};

double tolerance_of(DataType type) {
  return type == DataType::BFloat16 ? 0.06 : 0.01;
}

Graph bound_model(const std::string& spec) {
  return bind_inputs(zoo_model(spec), {}).graph;
}

class Precisions : public testing::TestWithParam<const char*> {};

TEST_P(Precisions, GiveTheSameOutputsOnBothEngines) {
  for (const DataType type : kHalves) {
    for (const OptimizeFor goal : {OptimizeFor::Latency, OptimizeFor::Memory}) {
      ProgramOptions options{.optimize_for = goal, .precision = type};
      options.cpu.threads = goal == OptimizeFor::Latency ? 1 : 2;
      const Difference difference = compare_engines(bound_model(GetParam()), options);
      EXPECT_TRUE(difference.same_shapes);
      EXPECT_TRUE(difference.same_non_finite);
      EXPECT_LE(difference.largest, tolerance_of(type)) << name(type) << " " << difference.where;
    }
  }
}

TEST_P(Precisions, ComeNearFloat32) {
  const Inferred model = infer_shapes(bound_model(GetParam()));
  const auto exact = compile(model);
  const auto inputs = random_inputs(exact->inputs());
  exact->set_inputs(inputs);
  exact->run();
  for (const DataType type : kHalves) {
    const auto program = compile(model, {.precision = type});
    program->set_inputs(inputs);
    program->run();
    const Difference difference = compare_results(program->results(), exact->results());
    EXPECT_TRUE(difference.same_shapes);
    EXPECT_LE(difference.largest, tolerance_of(type)) << name(type);
    EXPECT_GT(difference.largest, 0) << name(type) << ": nothing was rounded";
  }
}

TEST_P(Precisions, NeedNoPlainKernel) {
  for (const DataType type : kHalves) {
    const auto program = compile(infer_shapes(bound_model(GetParam())), {.precision = type});
    for (const StepInfo& step : program->steps()) {
      EXPECT_EQ(step.fell_back, "") << name(type) << " " << step.name;
    }
  }
}

std::string spec_name(const testing::TestParamInfo<const char*>& tested) {
  std::string text = tested.param;
  std::ranges::replace_if(
      text, [](unsigned char letter) { return !isalnum(letter); }, '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(OfTheZoo, Precisions,
                         testing::Values("small_cnn", "lenet5", "mlp", "stream_mlp",
                                         "encoder:layers=1,length=16", "lstm:length=4",
                                         "gpt2_small:length=2,last_only=1"),
                         spec_name);

// Too large for the plain kernels: compared with float32 on the fast engine.
TEST(PrecisionOfNetworks, ComesNearFloat32) {
  for (const char* spec : {"resnet18", "mobilenet_v2"}) {
    const Inferred model = infer_shapes(bound_model(spec));
    const auto exact = compile(model);
    const auto inputs = random_inputs(exact->inputs());
    exact->set_inputs(inputs);
    exact->run();
    for (const DataType type : kHalves) {
      for (const OptimizeFor goal : {OptimizeFor::Latency, OptimizeFor::Memory}) {
        const auto program = compile(model, {.optimize_for = goal, .precision = type});
        program->set_inputs(inputs);
        program->run();
        const Difference difference = compare_results(program->results(), exact->results());
        EXPECT_TRUE(difference.same_shapes && difference.same_non_finite);
        EXPECT_LE(difference.largest, tolerance_of(type)) << spec << " " << name(type);
        for (const StepInfo& step : program->steps())
          EXPECT_EQ(step.fell_back, "") << spec << " " << name(type) << " " << step.name;
      }
    }
  }
}

TEST(PrecisionOfRandomGraphs, GivesTheSameOutputsOnBothEngines) {
  constexpr int kGraphs = 200;
  for (int i = 0; i < kGraphs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const Graph graph = random_graph(seed);
    ProgramOptions options{.precision = kHalves[i % 2]};
    options.cpu.threads = 1 + i % 2;
    if (i % 5 == 0) options.optimize_for = OptimizeFor::Memory;
    const Difference difference = compare_engines(graph, options, seed);
    ASSERT_TRUE(difference.same_shapes && difference.same_non_finite) << "seed " << seed << "\n"
                                                                      << to_text(graph);
    ASSERT_LE(difference.largest, tolerance_of(*options.precision))
        << "seed " << seed << " at " << difference.where << "\n"
        << to_text(graph);
  }
}

TEST(PrecisionByWinogradIn16BitIntegers, ComesNearFloat32) {
  if (cpu::winograd16() == nullptr || cpu::tiles() != nullptr || !cpu::has_bfloat16())
    GTEST_SKIP() << "not offered on this processor";
  const Inferred model = infer_shapes(bound_model("small_cnn"));
  const auto exact = compile(model);
  const auto inputs = random_inputs(exact->inputs());
  exact->set_inputs(inputs);
  exact->run();
  for (const int threads : {1, 2}) {
    ProgramOptions options{.precision = DataType::BFloat16};
    options.cpu.threads = threads;
    const auto program = compile_preferring("winograd 4x4 int16", model, options);
    std::size_t steps = 0;
    for (const StepInfo& step : program->steps()) steps += step.precision == "int16" ? 1 : 0;
    EXPECT_EQ(steps, 2u);
    program->set_inputs(inputs);
    program->run();
    const Difference difference = compare_results(program->results(), exact->results());
    EXPECT_TRUE(difference.same_shapes && difference.same_non_finite);
    EXPECT_LE(difference.largest, tolerance_of(DataType::BFloat16));
  }
}

// Where the processor has no bfloat16 arithmetic, oneDNN's convolutions in it take workspaces of
// float32 as large as the activations.
bool halves_activations(DataType type) {
  return may_use(type == DataType::BFloat16 ? InstructionSet::Avx512Bf16 : InstructionSet::Avx2);
}

// What stays in float32 is counted out: vectors of biases and norms in weights, a few rows of
// patches or sums, or an image with its border, in the arena.
TEST(PrecisionOfMemory, IsHalfIn16Bits) {
  for (const char* spec : {"resnet18", "mobilenet_v2"}) {
    const Inferred model = infer_shapes(bound_model(spec));
    const auto memory_in = [&](std::optional<DataType> type) {
      const ProgramOptions options{.optimize_for = OptimizeFor::Memory,
                                   .cpu = {.threads = 1},  // each has a workspace of its own
                                   .precision = type};
      return compile(model, options)->memory();
    };
    const ProgramMemory whole = memory_in({});
    for (const DataType type : kHalves) {
      const ProgramMemory half = memory_in(type);
      EXPECT_LE(half.weight_bytes, whole.weight_bytes * 53 / 100) << spec << " " << name(type);
      if (!halves_activations(type)) continue;
      EXPECT_LE(half.arena_bytes, whole.arena_bytes * 65 / 100) << spec << " " << name(type);
      EXPECT_EQ(half.planned_weight_bytes * 2, whole.planned_weight_bytes) << spec;
      EXPECT_NEAR(static_cast<double>(half.planned_arena_bytes) * 2,
                  static_cast<double>(whole.planned_arena_bytes), 4096)
          << spec;
    }
  }
}

TEST(PrecisionOfMemory, OfRecurrentWeightsIsHalf) {
  const Inferred model = infer_shapes(bound_model("lstm:length=4"));
  const auto weights_in = [&](std::optional<DataType> type) {
    return compile(model, {.optimize_for = OptimizeFor::Memory, .precision = type})
        ->memory()
        .weight_bytes;
  };
  for (const DataType type : kHalves)
    EXPECT_LE(weights_in(type), weights_in({}) * 53 / 100) << name(type);
}

TEST(PrecisionOfSteps, IsToldByEveryStep) {
  if (!cpu::has_bfloat16()) GTEST_SKIP() << "oneDNN has no bfloat16 on this processor";
  // For memory nothing is timed, and the first choice is taken.
  const auto program =
      compile(infer_shapes(bound_model("mlp:batch=64")),
              {.optimize_for = OptimizeFor::Memory, .precision = DataType::BFloat16});
  std::size_t halves = 0;
  for (const StepInfo& step : program->steps()) {
    if (step.op == "Gemm" && step.precision == "bf16") ++halves;
  }
  EXPECT_GE(halves, 1u);
}

TEST(PrecisionOfSteps, TellsWhatIsStoredIn16BitsAndComputedInFloat32) {
  if (!may_use(InstructionSet::Avx2)) GTEST_SKIP() << "this processor does not convert float16";
  const auto program =
      compile(infer_shapes(bound_model("mobilenet_v2")),
              {.optimize_for = OptimizeFor::Memory, .precision = DataType::Float16});
  for (const StepInfo& step : program->steps()) {
    if (step.op != "Conv") continue;
    const bool is_emulated = step.precision == "fp32" && step.storage == "fp16";
    const bool is_native = step.precision == "fp16" && step.isa.ends_with("_fp16");
    EXPECT_TRUE(is_emulated || is_native)
        << step.name << " " << step.algorithm << " " << step.precision << " " << step.storage;
  }
}

// Arithmetic in float16 is the first choice, which is taken where nothing is timed.
TEST(PrecisionInFloat16Arithmetic, GivesTheSameOutputsOnBothEngines) {
  if (cpu::simd().panel_width != cpu::kFp16Columns) GTEST_SKIP() << "its panels need AVX-512";
  const bool is_emulated = cpu::fp16() == nullptr;
  if (is_emulated) cpu::replace_fp16(&cpu::fp16_emulated());
  std::vector<Graph> graphs = {bound_model("small_cnn"), bound_model("lenet5"),
                               bound_model("encoder:layers=1,length=16")};
  constexpr std::uint64_t kFirstSeed = 3000;
  constexpr std::uint64_t kGraphs = 60;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kGraphs; ++seed)
    graphs.push_back(random_graph(seed));
  std::size_t steps = 0;
  for (const Graph& graph : graphs) {
    ProgramOptions options{.optimize_for = OptimizeFor::Memory, .precision = DataType::Float16};
    options.cpu.threads = 1 + static_cast<int>(steps % 2);
    const auto program = compile(infer_shapes(graph), options);
    for (const StepInfo& step : program->steps())
      steps += step.precision == "fp16" && step.algorithm.starts_with("fp16 panels:") ? 1 : 0;
    const Difference difference = compare_engines(graph, options);
    EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << to_text(graph);
    EXPECT_LE(difference.largest, tolerance_of(DataType::Float16)) << to_text(graph);
  }
  cpu::replace_fp16(nullptr);
  EXPECT_GE(steps, 30u);
}

TEST(PrecisionOfRecurrentLayers, AgreesOnBothEngines) {
  for (const char* spec : {"lstm:length=3", "lstm:length=3,batch=6"}) {
    for (const bool is_clipped : {false, true}) {  // a form that only the plain kernel has
      Graph graph = bound_model(spec);
      for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
        Node& node = graph.node(NodeId{i});
        if (node.is("LSTM") && is_clipped) node.set("clip", 3.0f);
      }
      for (const DataType type : kHalves) {
        for (const OptimizeFor goal : {OptimizeFor::Latency, OptimizeFor::Memory}) {
          const Difference difference =
              compare_engines(graph, {.optimize_for = goal, .precision = type});
          EXPECT_TRUE(difference.same_shapes && difference.same_non_finite);
          EXPECT_LE(difference.largest, tolerance_of(type)) << spec << " " << name(type);
        }
      }
    }
  }
}

TEST(StoredIn16Bits, RunsOnBothEngines) {
  for (const DataType type : kHalves) {
    for (const char* spec : {"mlp", "small_cnn", "encoder:layers=1,length=8", "lstm:length=3"}) {
      const auto path = std::filesystem::temp_directory_path() /
                        ("assay_stored_" + std::string(name(type)) + ".onnx");
      write_onnx(cast_precision(bound_model(spec), type).graph, path);
      const Graph stored = read_onnx(path);
      const bool holds_halves = std::ranges::any_of(
          stored.initializers(), [&](const Initializer& one) { return one.tensor.type() == type; });
      EXPECT_TRUE(holds_halves) << spec;
      const Difference difference = compare_engines(stored);
      EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << spec;
      EXPECT_LE(difference.largest, tolerance_of(type)) << name(type) << " " << spec;
      std::filesystem::remove(path);
    }
  }
}

TEST(PrecisionInt8, NeedsAQuantisedModel) {
  const std::string message = error_message(
      [] { compile(infer_shapes(bound_model("mlp")), {.precision = DataType::Int8}); });
  EXPECT_NE(message.find("quantised already"), std::string::npos) << message;
}

}  // namespace
}  // namespace assay
