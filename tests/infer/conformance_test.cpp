// Shape inference against ONNX's own conformance models: what we infer must be what was recorded.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "assay/error.h"
#include "assay/infer.h"
#include "assay/onnx.h"
#include "assay/verify.h"
#include "conformance/exclusions.h"
#include "infer/declared.h"

namespace assay {

using namespace assay::infer;

namespace {

namespace fs = std::filesystem;

enum class Outcome { FromModelAlone, WithRecordedInputs, Failed };

struct Checked {
  Outcome outcome = Outcome::Failed;
  std::string reason;
};

// The files declare the answer on their outputs. Without that, inference has to find it.
void forget_declared(Graph& graph) {
  settle_declared_shapes(graph, {}, true);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId output : graph.node(NodeId{i}).outputs) {
      if (output.is_valid()) graph.value(output).type = ValueType{};
    }
  }
}

// Nothing when no such tensor is recorded.
std::optional<Tensor> recorded(const fs::path& folder, const char* what, std::size_t i) {
  const fs::path path = folder / "test_data_set_0" / fmt::format("{}_{}.pb", what, i);
  return fs::exists(path) ? std::optional(read_onnx_tensor(path)) : std::nullopt;
}

InferOptions recorded_inputs(const Graph& graph, const fs::path& folder) {
  InferOptions options;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& input = graph.value(graph.inputs()[i]);
    if (!input.type.is_tensor()) continue;
    const auto content = recorded(folder, "input", i);
    if (content && content->type() == input.type.element)
      options.input_values[input.name] = *content;
  }
  return options;
}

// Nothing when all outputs are as recorded; otherwise what differs first.
std::optional<std::string> difference(const Inferred& inferred, const fs::path& folder) {
  const Graph& graph = inferred.graph;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = graph.value(graph.outputs()[i]);
    if (!output.type.is_tensor())
      return fmt::format("'{}' is a {}", output.name, output.type.to_string());
    if (output.type.element == DataType::Undefined)
      return fmt::format("'{}' has no type", output.name);
    const auto content = recorded(folder, "output", i);
    if (!content) return fmt::format("output {} is not recorded", i);
    // The data set was made with numpy, which has no bfloat16: it holds the bits.
    const bool is_bits =
        content->type() == DataType::UInt16 && output.type.element == DataType::BFloat16;
    const DataType type = is_bits ? DataType::BFloat16 : content->type();
    const ValueType wanted = tensor_type(type, content->shape());
    if (output.type != wanted)
      return fmt::format("'{}' is {}, recorded {}", output.name, output.type.to_string(),
                         wanted.to_string());
  }
  return std::nullopt;
}

std::optional<std::string> difference_with(const Graph& graph, const fs::path& folder,
                                           const InferOptions& options) {
  try {
    const Inferred inferred = infer_shapes(graph, options);
    verify(inferred.graph);
    if (inferred.known.size() != inferred.graph.value_count())
      return "known[] does not fit the graph";
    return difference(inferred, folder);
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

Checked check(const fs::path& folder) {
  try {
    Graph graph = read_onnx(folder / "model.onnx");
    forget_declared(graph);
    if (!difference_with(graph, folder, {})) return {Outcome::FromModelAlone, ""};
    const auto differs = difference_with(graph, folder, recorded_inputs(graph, folder));
    if (!differs) return {Outcome::WithRecordedInputs, ""};
    return {Outcome::Failed, *differs};
  } catch (const Error& error) {
    return {Outcome::Failed, error.what()};
  }
}

std::map<std::string, std::string> exclusions() {
  return read_exclusions(fs::path(ASSAY_TESTS_DIR) / "infer" / "conformance_exclusions.txt");
}

std::set<fs::path> models_in(const char* folder) {
  std::set<fs::path> models;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_ONNX_TESTDATA) / folder)) {
    if (fs::exists(entry.path() / "model.onnx")) models.insert(entry.path());
  }
  return models;
}

TEST(Conformance, InferredShapesAreTheRecordedOnes) {
  const auto excluded = exclusions();
  std::size_t models = 0, alone = 0, with_inputs = 0;
  for (const fs::path& folder : models_in("node")) {
    const std::string name = folder.filename().string();
    const Checked checked = check(folder);
    ++models;
    alone += checked.outcome == Outcome::FromModelAlone ? 1 : 0;
    with_inputs += checked.outcome == Outcome::WithRecordedInputs ? 1 : 0;
    const bool is_excluded = excluded.contains(name);
    const bool passes = checked.outcome != Outcome::Failed;
    EXPECT_TRUE(passes || is_excluded) << name << ": " << checked.reason;
    EXPECT_FALSE(passes && is_excluded) << name << " passes: remove it from the exclusions";
  }
  fmt::print(
      "conformance: {} of {} models pass ({} from the model alone, {} with recorded inputs), {} "
      "excluded\n",
      alone + with_inputs, models, alone, with_inputs, excluded.size());
  EXPECT_GE(models, 900u);
  EXPECT_GE(static_cast<double>(alone + with_inputs), 0.93 * static_cast<double>(models));
}

TEST(Conformance, EveryExclusionNamesAModelAndAReason) {
  for (const auto& [name, reason] : exclusions()) {
    EXPECT_TRUE(fs::exists(fs::path(ASSAY_ONNX_TESTDATA) / "node" / name)) << name;
    EXPECT_GE(reason.size(), 8u) << name;
  }
}

// Models written by PyTorch and by hand: read, inferred, and as recorded where nothing is a
// sequence.
TEST(Conformance, ConvertedModelsAreInferredWithoutRunning) {
  for (const char* group : {"pytorch-converted", "pytorch-operator", "simple"}) {
    std::size_t models = 0, resolved = 0;
    for (const fs::path& folder : models_in(group)) {
      Graph graph = read_onnx(folder / "model.onnx");
      ++models;
      forget_declared(graph);
      const auto differs = difference_with(graph, folder, recorded_inputs(graph, folder));
      resolved += differs ? 0 : 1;
      const bool needs_data = folder.filename().string().find("strnorm") != std::string::npos ||
                              folder.filename().string().find("sequence") != std::string::npos;
      EXPECT_TRUE(needs_data || !differs) << folder << ": " << differs.value_or("");
    }
    fmt::print("{}: {} of {} models are inferred as recorded\n", group, resolved, models);
  }
}

}  // namespace
}  // namespace assay
