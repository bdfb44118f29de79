#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "assay/builder.h"
#include "assay/layers.h"
#include "assay/verify.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph small_network() {
  GraphBuilder builder("net");
  const ValueId x = builder.input("x", DataType::Float32, Shape{Dim::symbol("batch"), 1, 28, 28});
  const ValueId hidden = Conv2d(1, 16, 3, {.padding = 1})(builder, x);
  const ValueId flat = Flatten()(builder, Relu()(builder, hidden));
  builder.output(Linear(16 * 28 * 28, 10)(builder, flat), "y");
  return builder.finish();
}

class Cancels : public Progress {
 public:
  explicit Cancels(int after) : after_(after) {}
  void report(double fraction, std::string_view) override {
    last_fraction = fraction;
    ++reports;
  }
  bool cancelled() const override { return reports >= after_; }

  double last_fraction = 0;
  int reports = 0;

 private:
  int after_ = 0;
};

TEST(WriteOnnx, WhatIsWrittenReadsBackTheSame) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "net.onnx";
  const Graph network = small_network();
  write_onnx(network, path);
  const Graph once = read_onnx(path);
  EXPECT_EQ(once.node_count(), network.node_count());
  EXPECT_EQ(once.value(once.inputs()[0]).type.to_string(), "float32[batchx1x28x28]");
  for (const auto& initializer : network.initializers()) {
    const auto& name = network.value(initializer.value).name;
    EXPECT_EQ(*once.initializer(*once.find_value(name)), initializer.tensor) << name;
  }
  write_onnx(once, path);  // over the file whose weights it still views
  EXPECT_TRUE(read_onnx(path) == once);
}

TEST(WriteOnnx, RaisesTheIrVersionToWhatTheOpsetNeedsAndKeepsAHigherOne) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "net.onnx";
  const auto written = [&](std::int64_t opset, std::int64_t ir_version) {
    Graph graph = read_bytes(model_with_nodes({node("Relu", {"x"}, {"y"})}));
    graph.opsets[""] = opset;
    graph.info.ir_version = ir_version;
    write_onnx(graph, path);
    return read_onnx(path).info.ir_version;
  };
  EXPECT_EQ(written(7, 3), 4);
  EXPECT_EQ(written(12, 3), 7);
  EXPECT_EQ(written(17, 0), 8);
  EXPECT_EQ(written(21, 8), 10);
  EXPECT_EQ(written(17, 9), 9);
}

TEST(WriteOnnx, PutsWeightsBesideTheModelWhenItWouldBeTooLarge) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "net.onnx";
  const Graph graph = small_network();
  write_onnx(graph, path, {.largest_file = 10000});
  EXPECT_THAT(folder.listing(), ElementsAre("net.onnx", "net.onnx.data"));
  EXPECT_LT(std::filesystem::file_size(path), 10000u);
  // Only the last layer's 12544 · 10 weights take more than 1 KiB.
  EXPECT_EQ(std::filesystem::file_size(path.string() + ".data"), 16u * 28 * 28 * 10 * 4);
  const Graph back = read_onnx(path);
  write_onnx(back, folder.path() / "inline.onnx");
  EXPECT_TRUE(read_onnx(folder.path() / "inline.onnx") == back);
  for (const auto& initializer : graph.initializers()) {
    const auto& name = graph.value(initializer.value).name;
    EXPECT_EQ(*back.initializer(*back.find_value(name)), initializer.tensor) << name;
  }
}

TEST(WriteOnnx, LargeWeightsBesideTheModelBeginAPage) {
  const TemporaryFolder folder;
  GraphBuilder builder("g");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1});
  const ValueId a = builder.node("Add", "a", {x, builder.weight("small", {300}, 1.0)});
  const ValueId b = builder.node("Add", "b", {a, builder.weight("large", {2000}, 1.0)});
  builder.output(b, "y");
  const auto path = folder.path() / "g.onnx";
  write_onnx(builder.finish(), path, {.largest_file = 1000});
  // 1,200 bytes, then 8,000 from the next multiple of 4,096 on.
  EXPECT_EQ(std::filesystem::file_size(path.string() + ".data"), 4096u + 8000u);
  EXPECT_EQ(refusal_of_file(path), "");
}

TEST(WriteOnnx, CancellingLeavesNothingBehind) {
  const TemporaryFolder folder;
  for (const std::uint64_t largest_file : {std::uint64_t{1000}, std::uint64_t{1} << 30}) {
    for (int after = 0; after < 3; ++after) {
      Cancels progress(after);
      try {
        write_onnx(small_network(), folder.path() / "net.onnx", {largest_file}, &progress);
        ADD_FAILURE() << "was not cancelled";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
      }
      EXPECT_TRUE(folder.listing().empty());
    }
  }
}

TEST(WriteOnnx, ReportsItsProgressUpToTheEnd) {
  const TemporaryFolder folder;
  Cancels progress(1000);
  write_onnx(small_network(), folder.path() / "net.onnx", {}, &progress);
  EXPECT_GT(progress.reports, 0);
  EXPECT_EQ(progress.last_fraction, 1.0);
}

// Simulates a full disk: a write beyond `bytes` fails.
class LimitedFileSize {
 public:
  explicit LimitedFileSize(rlim_t bytes) {
    previous_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limited{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  LimitedFileSize(const LimitedFileSize&) = delete;
  LimitedFileSize& operator=(const LimitedFileSize&) = delete;
  ~LimitedFileSize() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    ::signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_ = {};
  void (*previous_handler_)(int) = SIG_DFL;
};

TEST(WriteOnnx, AFullDiskIsAnErrorThatNamesTheFileAndLeavesNothing) {
  const TemporaryFolder folder;
  const Graph network = small_network();
  for (const std::uint64_t largest_file : {std::uint64_t{1000}, std::uint64_t{1} << 30}) {
    const LimitedFileSize limit(100'000);
    try {
      write_onnx(network, folder.path() / "net.onnx", {largest_file});
      ADD_FAILURE() << "500 kB were written to a disk of 100";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("net.onnx"));
    }
    EXPECT_TRUE(folder.listing().empty());
  }
}

TEST(WriteOnnx, RefusesAGraphThatIsNotWellFormed) {
  const TemporaryFolder folder;
  Graph graph = small_network();
  graph.add_output(graph.add_value("dangling"));
  EXPECT_THROW(write_onnx(graph, folder.path() / "net.onnx"), Error);
  EXPECT_TRUE(folder.listing().empty());
}

// The branch captures the outer "a" under the name "inner_a", and has an "a" of its own.
Graph graph_with_hiding_names() {
  auto branch = std::make_shared<Graph>();
  branch->name = "branch";
  branch->opsets[""] = 17;
  const ValueId inner = branch->add_value("inner_a");
  const ValueId own = branch->add_value("a");
  branch->add_node({.name = "", .op = "Neg", .domain = "", .inputs = {inner}, .outputs = {own}});
  branch->add_output(own);
  Graph graph;
  graph.name = "g";
  graph.opsets[""] = 17;
  const ValueId a = graph.add_value("a", tensor_type(DataType::Float32, Shape{2}));
  const ValueId c = graph.add_value("c", tensor_type(DataType::Bool, Shape{}));
  const ValueId y = graph.add_value("y", tensor_type(DataType::Float32, Shape{2}));
  graph.add_input(a);
  graph.add_input(c);
  branch->add_capture({a, inner});
  Node choice{.name = "choice", .op = "If", .domain = "", .inputs = {c}, .outputs = {y}};
  choice.attributes = {{"then_branch", GraphPtr(branch)}, {"else_branch", GraphPtr(branch)}};
  graph.add_node(std::move(choice));
  graph.add_output(y);
  return graph;
}

TEST(WriteOnnx, WritesCapturesUnderTheirOuterNamesAndRenamesWhatWouldHideThem) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "g.onnx";
  write_onnx(graph_with_hiding_names(), path);
  const Graph back = read_onnx(path);
  const Graph& branch = **back.node(NodeId{0}).get<GraphPtr>("then_branch");
  ASSERT_EQ(branch.captures().size(), 1u);
  EXPECT_EQ(branch.node(NodeId{0}).inputs[0], branch.captures()[0].inner);
  EXPECT_EQ(branch.value(branch.captures()[0].inner).name, "a");
  EXPECT_EQ(branch.value(branch.outputs()[0]).name, "a_1");
}

TEST(WriteOnnx, KeepsEveryKindOfAttribute) {
  const TemporaryFolder folder;
  Graph graph = read_bytes(model_with_nodes({node("Foo", {"x"}, {"y"})}));
  Node& foo = graph.node(NodeId{0});
  ValueType sequence;
  sequence.kind = ValueType::Kind::Sequence;
  sequence.inner = std::make_shared<ValueType>(tensor_type(DataType::Int64));
  const Tensor tensor = Tensor::of_float({2}, {1.0f, 2.0f});
  foo.set("i", std::int64_t{-5});
  foo.set("f", 0.1f);
  foo.set("s", std::string("te\0xt", 5));
  foo.set("ints", std::vector<std::int64_t>{1, -1});
  foo.set("floats", std::vector<float>{0.5f});
  foo.set("strings", std::vector<std::string>{"a", ""});
  foo.set("t", tensor);
  foo.set("tensors", std::vector<Tensor>{tensor, Tensor({1}, std::vector<std::string>{"x"})});
  foo.set("tp", sequence);
  foo.set("types", std::vector<ValueType>{sequence, tensor_type(DataType::Bool, Shape{})});
  foo.set("empty", std::vector<std::int64_t>{});
  write_onnx(graph, folder.path() / "g.onnx");
  EXPECT_TRUE(read_onnx(folder.path() / "g.onnx") == graph);
}

}  // namespace
}  // namespace assay
