#include <gtest/gtest.h>

#include "assay/zoo.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;

std::vector<std::filesystem::path> conformance_models() {
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ASSAY_ONNX_TESTDATA)) {
    if (entry.path().filename() == "model.onnx") models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

// Everything is kept but an IR version too low for how initializers are written.
bool survives(const Graph& graph, const std::filesystem::path& file) {
  write_onnx(graph, file);
  const Graph back = read_onnx(file);
  Graph expected = graph;
  expected.info.ir_version = std::max(graph.info.ir_version, back.info.ir_version);
  return back == expected;
}

TEST(RoundTrip, EveryConformanceModelSurvivesReadingAndWriting) {
  const TemporaryFolder folder;
  int accepted = 0;
  for (const auto& path : conformance_models()) {
    if (const auto refusal = refusal_of_file(path); !refusal.empty()) {
      EXPECT_NE(refusal.find("assay knows 7 to 21"), std::string::npos) << refusal;
      continue;
    }
    ++accepted;
    const Graph graph = read_onnx(path);
    EXPECT_TRUE(survives(graph, folder.path() / "m.onnx")) << path;
  }
  EXPECT_GT(accepted, 900);
}

TEST(RoundTrip, NetworksOfTheZooSurviveOnceTheyHaveBeenAFile) {
  const TemporaryFolder folder;
  for (const char* spec : {"lenet5", "lstm", "mobilenet_v2", "encoder:layers=1"}) {
    for (const std::uint64_t largest_file : {std::uint64_t{100'000}, std::uint64_t{1} << 31}) {
      const auto path = folder.path() / "zoo.onnx";
      const Graph network = zoo_model(spec);
      write_onnx(network, path, {largest_file});
      const Graph read = read_onnx(path);
      EXPECT_EQ(read.node_count(), network.node_count()) << spec;
      EXPECT_EQ(read.initializers().size(), network.initializers().size()) << spec;
      EXPECT_TRUE(survives(read, folder.path() / "again.onnx")) << spec;
    }
  }
}

TEST(RoundTrip, FunctionsConstantsAndSubgraphsSettleAtTheFirstReading) {
  const std::string body = branch({node("Constant", {}, {"k"}, {int_attribute("value_int", 1)}),
                                   node("Foo", {"t", "k"}, {"s"})},
                                  "s");
  const std::string f = function(
      {.name = "f",
       .inputs = {"a", "c"},
       .outputs = {"b"},
       .nodes = {node("Relu", {"a"}, {"t"}),
                 node("Constant", {}, {"one"}, {int_attribute("value_int", 1)}),
                 node("If", {"c"}, {"u"},
                      {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}),
                 node("Add", {"u", "one"}, {"b"})}});
  const Graph graph = read_bytes(model(
      testing::graph(
          {.nodes = {node("f", {"x", "c"}, {"m"}, {}, "local"),
                     node("Constant", {}, {"late"}, {int_attribute("value_int", 2)}),
                     node("f", {"m", "c"}, {"n"}, {}, "local"), node("Add", {"n", "late"}, {"y"})},
           .inputs = {value_info("x"), value_info("c", 9, {})}}),
      {opset(17), opset(1, "local")}, {f}));
  EXPECT_EQ(graph.node_count(), 2u * 3 + 1);
  const TemporaryFolder folder;
  EXPECT_TRUE(survives(graph, folder.path() / "m.onnx"));
}

}  // namespace
}  // namespace assay
