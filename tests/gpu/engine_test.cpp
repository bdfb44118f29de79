// The CUDA engine gives what the reference engine gives. It runs on the fake GPU, or on a real one
// where ASSAY_CUDA_LIBRARIES is set to nothing; ASSAY_TEST_GRAPHS asks for more random graphs,
// ASSAY_TEST_SEED for others, ASSAY_TEST_MODELS=all for every conformance model.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "assay/bind.h"
#include "assay/error.h"
#include "assay/onnx.h"
#include "assay/text_form.h"
#include "assay/zoo.h"
#include "conformance/exclusions.h"
#include "execute/compare_engines.h"
#include "execute/quantized_graph.h"
#include "execute/quantized_oracle.h"
#include "execute/random_graph.h"
#include "execute/recorded_model.h"
#include "gpu/fake_device.h"

namespace assay {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

// Sums are in another order; numbers of 16 bits are rounded less often than in the plain kernels.
double tolerance_of(std::optional<DataType> type) {
  if (!type) return 2e-5;
  return type == DataType::BFloat16 ? 0.06 : 0.01;
}

// For each of the tests, in a process of its own.
class CudaEngine : public testing::Test {
 protected:
  void SetUp() override { fake_device(); }
};

class CudaZoo
    : public CudaEngine,
      public testing::WithParamInterface<std::tuple<const char*, std::optional<DataType>>> {};

TEST_P(CudaZoo, GivesWhatTheReferenceGives) {
  const auto& [spec, type] = GetParam();
  const Graph graph = bind_inputs(zoo_model(spec), {}).graph;
  const Difference difference = compare_engines(graph, {.engine = kCudaEngine, .precision = type});
  EXPECT_TRUE(difference.same_shapes);
  EXPECT_TRUE(difference.same_non_finite);
  EXPECT_LE(difference.largest, tolerance_of(type)) << difference.where;
}

TEST_P(CudaZoo, LeavesNothingToTheHost) {
  const auto& [spec, type] = GetParam();
  const auto program = compile(infer_shapes(bind_inputs(zoo_model(spec), {}).graph),
                               {.engine = kCudaEngine, .precision = type});
  for (const StepInfo& step : program->steps()) EXPECT_EQ(step.device, "cuda") << step.name;
}

std::string zoo_test_name(const testing::TestParamInfo<CudaZoo::ParamType>& tested) {
  const auto& [spec, type] = tested.param;
  std::string name = fmt::format("{}_{}", spec, type ? assay::name(*type) : "float32");
  for (char& letter : name)
    if (isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    AllOfIt, CudaZoo,
    testing::Combine(testing::Values("small_cnn", "small_cnn_gap", "lenet5", "mlp", "stream_mlp",
                                     "lstm:length=9,inputs=20,hidden=70", "encoder:layers=1",
                                     "gpt2_small:length=4,layers=1,last_only=1"),
                     testing::Values(std::optional<DataType>(), DataType::Float16,
                                     DataType::BFloat16)),
    zoo_test_name);

TEST_F(CudaEngine, GivesWhatTheReferenceGivesForRandomGraphs) {
  // Attention on random scores turns rounding into more than a trained network would.
  constexpr double kTolerance = 1e-4;
  const std::uint64_t first = number_from("ASSAY_TEST_SEED", 1);
  const std::uint64_t count = number_from("ASSAY_TEST_GRAPHS", 30);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Graph graph = random_graph(seed);
    const Difference difference = compare_engines(graph, {.engine = kCudaEngine}, seed);
    EXPECT_TRUE(difference.same_shapes && difference.same_non_finite) << "seed " << seed << "\n"
                                                                      << to_text(graph);
    EXPECT_LE(difference.largest, kTolerance)
        << "seed " << seed << " at " << difference.where << "\n"
        << to_text(graph);
  }
}

// What is more than one quantisation step off, or nothing.
std::string quantized_complaint(const QuantizedGraph& made, Tally& tally) {
  const Inferred model = infer_shapes(made.graph);
  const auto program = compile(model, {.engine = kCudaEngine});
  program->set_inputs(made.inputs);
  program->run();
  program->run();  // meets the arena as the first run left it
  return Oracle(model.graph, made.inputs, program->results()).check(tally);
}

TEST_F(CudaEngine, IsOneStepApartForRandomGraphsOf8BitNumbers) {
  const std::uint64_t first = number_from("ASSAY_TEST_SEED", 1);
  const std::uint64_t count = number_from("ASSAY_TEST_GRAPHS", 20);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const QuantizedGraph made = quantized_graph(seed);
    EXPECT_EQ(quantized_complaint(made, tally), "") << "seed " << seed << "\n"
                                                    << to_text(made.graph);
  }
  EXPECT_LE(static_cast<double>(tally.different), 0.01 * static_cast<double>(tally.numbers));
}

namespace fs = std::filesystem;

// Every model with ASSAY_TEST_MODELS=all; those of its words with others; without it, a few that
// the other tests leave out.
bool is_chosen(const std::string& model) {
  static const char* given = std::getenv("ASSAY_TEST_MODELS");
  static const std::set<std::string> few = {
      "test_argmax_default_axis_example_select_last_index",
      "test_batchnorm_example_training_mode",
      "test_cumsum_2d_negative_axis",
      "test_depthtospace_crd_mode_example",
      "test_dynamicquantizelinear_max_adjusted",
      "test_expand_dim_changed",
      "test_gathernd_example_int32_batch_dim1",
      "test_group_normalization_example",
      "test_hardmax_axis_1",
      "test_lppool_2d_pads",
      "test_lrn",
      "test_maxpool_with_argmax_2d_precomputed_strides",
      "test_mvn",
      "test_onehot_negative_indices",
      "test_pow_types_int64_float32",
      "test_reduce_log_sum_exp_keepdims_random",
      "test_resize_upsample_scales_cubic_A_n0p5_exclude_outside",
      "test_resize_downsample_sizes_nearest",
      "test_reversesequence_time",
      "test_scatter_elements_with_duplicate_indices",
      "test_scatternd_add",
      "test_spacetodepth_example",
      "test_top_k_smallest",
      "test_tril_neg"};
  if (given == nullptr) return few.contains(model);
  return std::string_view(given) == "all" || model.find(given) != std::string::npos;
}

std::set<fs::path> chosen_models() {
  const auto excluded =
      read_exclusions(fs::path(ASSAY_TESTS_DIR) / "execute" / "conformance_exclusions.txt");
  std::set<fs::path> models;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_ONNX_TESTDATA) / "node")) {
    const std::string name = entry.path().filename().string();
    const bool is_there = fs::exists(entry.path() / "model.onnx");
    if (is_there && is_chosen(name) && !excluded.contains("node/" + name))
      models.insert(entry.path());
  }
  return models;
}

TEST_F(CudaEngine, GivesWhatConformanceModelsRecord) {
  for (const fs::path& folder : chosen_models()) {
    for (const bool stores_settings : {false, true}) {
      const auto complaint = complaint_about(
          folder,
          {.options = {.engine = kCudaEngine}, .stores_settings = stores_settings, .runs = 2});
      EXPECT_FALSE(complaint) << folder.filename() << ": " << complaint.value_or("");
    }
  }
}

// Ops of models whose shapes are known that run on the host.
std::set<std::string> ops_on_the_host(const Graph& graph) {
  std::set<std::string> ops;
  try {
    const auto program = compile(infer_shapes(graph), {.engine = kCudaEngine});
    for (const StepInfo& step : program->steps())
      if (step.fell_back.starts_with("no kernel")) ops.insert(step.op);
  } catch (const Error&) {
    // Its inputs or outputs are no tensors, or of unknown shape.
  }
  return ops;
}

TEST_F(CudaEngine, LeavesFewOpsOfConformanceModelsToTheHost) {
  // The plain kernels are as good for what reads settings that are known only at run time, computes
  // sizes from data, or is rare.
  const std::set<std::string> known = {"Adagrad",
                                       "Adam",
                                       "BlackmanWindow",
                                       "Compress",
                                       "ConstantOfShape",
                                       "CumSum",
                                       "DFT",
                                       "Det",
                                       "Dropout",
                                       "Einsum",
                                       "GridSample",
                                       "HannWindow",
                                       "HammingWindow",
                                       "MaxUnpool",
                                       "MelWeightMatrix",
                                       "Momentum",
                                       "NonMaxSuppression",
                                       "NonZero",
                                       "Pad",
                                       "Range",
                                       "ReduceSum",
                                       "Resize",
                                       "RoiAlign",
                                       "STFT",
                                       "Slice",
                                       "TfIdfVectorizer",
                                       "Trilu",
                                       "Unique",
                                       "Upsample"};
  for (const fs::path& folder : chosen_models())
    for (const std::string& op : ops_on_the_host(read_onnx(folder / "model.onnx")))
      EXPECT_TRUE(known.contains(op)) << folder.filename() << ": " << op;
}

}  // namespace
}  // namespace assay
