#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "assay/runtime_trace_file.h"
#include "support/error_message.h"

namespace assay {
namespace {

std::string sample(const char* name) {
  std::ifstream file(std::string(ASSAY_TESTS_DIR) + "/cli/samples/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string message_for(std::string_view text) {
  return error_message(ErrorKind::BadInput, [&] { parse_runtime_trace(text, "file"); });
}

// Milliseconds of the kernel in the first run.
double time_of(const RuntimeTrace& trace, const std::string& name) {
  for (const RuntimeKernel& kernel : trace.kernels) {
    if (kernel.name == name) return kernel.run_ms.front();
  }
  return -1;
}

constexpr const char* kLoop = R"([
{"cat":"Session","ph":"X","pid":1,"tid":1,"name":"model_run","ts":0,"dur":100,"args":{}},
{"cat":"Node","ph":"X","pid":1,"tid":1,"name":"a_kernel_time","ts":12,"dur":20,"args":{"op_name":"Relu"}},
{"cat":"Node","ph":"X","pid":1,"tid":1,"name":"a_kernel_time","ts":40,"dur":30,"args":{"op_name":"Relu"}},
{"cat":"Node","ph":"X","pid":1,"tid":1,"name":"loop_kernel_time","ts":10,"dur":70,"args":{"op_name":"Loop"}},
{"cat":"Node","ph":"X","pid":1,"tid":1,"name":"b_fence_before","ts":85,"dur":9,"args":{"op_name":"Relu"}}])";

TEST(RuntimeTrace, BodiesAreTakenFromTheTimeOfTheirNode) {
  const RuntimeTrace trace = parse_runtime_trace(kLoop, "file");
  ASSERT_EQ(trace.kernels.size(), 2u);
  EXPECT_DOUBLE_EQ(time_of(trace, "loop"), 0.070 - 0.020 - 0.030);
  EXPECT_DOUBLE_EQ(time_of(trace, "a"), 0.020 + 0.030);
  EXPECT_EQ(trace.kernels[1].parent, 0u);
  EXPECT_EQ(trace.runs_ms, std::vector<double>{0.1});
  EXPECT_EQ(trace.warmup_runs, 0u);  // the only run counts
}

TEST(RuntimeTrace, EachFormatIsRecognisedByItsContent) {
  EXPECT_EQ(parse_runtime_trace(sample("onnxruntime_small_cnn.json"), "file").runtime,
            "ONNX Runtime");
  EXPECT_EQ(parse_runtime_trace(sample("openvino_small_cnn.csv"), "file").runtime, "OpenVINO");
  EXPECT_EQ(parse_runtime_trace(R"([{"count":2},{"name":"a","averageMs":1}])", "file").runtime,
            "TensorRT");
  EXPECT_EQ(parse_runtime_trace("node type, start, first, avg_ms, %, cdf%, mem KB, times called, "
                                "name\nADD, 0, 1, 1.5, 1%, 1%, 0, 1, [x, y;z]:3\n",
                                "file")
                .runtime,
            "LiteRT");
}

TEST(RuntimeTrace, GpuKernelsCountForTheOperatorThatLaunchedThem) {
  const RuntimeTrace trace = parse_runtime_trace(R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":0,"dur":50,"args":{"External id":1}},
    {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":5,"dur":20,"args":{"External id":2}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":60,"dur":300,"args":{"External id":2}}]})",
                                                 "file");
  ASSERT_EQ(trace.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(trace.kernels[0].run_ms.front(), 0.3);
  EXPECT_EQ(trace.kernels[0].device, "gpu");
}

// Debian's PyTorch: a list of events without categories, in whole microseconds. The second relu
// seems to end before the clamp_min that it calls begins.
TEST(RuntimeTrace, TorchWithoutKinetoHasRoundedTimes) {
  const RuntimeTrace trace = parse_runtime_trace(R"([
    {"name":"ProfilerStep#1","ph":"X","ts":0,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::conv2d","ph":"X","ts":1,"dur":9,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::convolution","ph":"X","ts":2,"dur":8,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::relu","ph":"X","ts":11,"dur":3,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::clamp_min","ph":"X","ts":12,"dur":2,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"ProfilerStep#2","ph":"X","ts":40,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::conv2d","ph":"X","ts":41,"dur":9,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::relu","ph":"X","ts":50,"dur":1,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::clamp_min","ph":"X","ts":51,"dur":0,"tid":1,"pid":"CPU functions","args":{}}
  ])",
                                                 "trace.json");
  EXPECT_EQ(trace.runtime, "PyTorch");
  ASSERT_EQ(trace.kernels.size(), 2u);
  EXPECT_EQ(trace.kernels[0].name, "aten::conv2d");
  EXPECT_EQ(trace.kernels[1].name, "aten::relu");
  ASSERT_EQ(trace.runs_ms.size(), 2u);
  EXPECT_DOUBLE_EQ(trace.runs_ms[0], 0.009 + 0.003);
  EXPECT_DOUBLE_EQ(trace.runs_ms[1], 0.009 + 0.001);
}

std::vector<std::string> nodes_of_layer(const std::string& name) {
  const std::string json = R"([{"name":")" + name + R"(","averageMs":1}])";
  return parse_runtime_trace(json, "file").kernels.at(0).fused_names;
}

// Rounding hides the view of the second run.
TEST(RuntimeTrace, TorchWithoutKinetoMayHideViews) {
  const RuntimeTrace trace = parse_runtime_trace(R"([
    {"name":"ProfilerStep#1","ph":"X","ts":0,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::conv2d","ph":"X","ts":1,"dur":9,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::view","ph":"X","ts":12,"dur":2,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::relu","ph":"X","ts":20,"dur":3,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"ProfilerStep#2","ph":"X","ts":40,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::conv2d","ph":"X","ts":41,"dur":9,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::relu","ph":"X","ts":60,"dur":1,"tid":1,"pid":"CPU functions","args":{}}
  ])",
                                                 "trace.json");
  ASSERT_EQ(trace.runs_ms.size(), 2u);
  ASSERT_EQ(trace.kernels.size(), 2u);
  EXPECT_DOUBLE_EQ(trace.kernels[0].run_ms[0], 0.009 + 0.002);
  EXPECT_DOUBLE_EQ(trace.kernels[0].run_ms[1], 0.009);
}

// Rounding makes a copy of the second of three passes an operator of its own.
TEST(RuntimeTrace, TorchWithoutKinetoHasPassesThatDiffer) {
  const RuntimeTrace trace = parse_runtime_trace(R"([
    {"name":"aten::zeros","ph":"X","ts":1,"dur":1,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::lstm","ph":"X","ts":10,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::linear","ph":"X","ts":50,"dur":5,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::zeros","ph":"X","ts":101,"dur":1,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::lstm","ph":"X","ts":110,"dur":30,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::copy_","ph":"X","ts":144,"dur":1,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::linear","ph":"X","ts":150,"dur":5,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::zeros","ph":"X","ts":201,"dur":1,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::lstm","ph":"X","ts":210,"dur":20,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::linear","ph":"X","ts":250,"dur":5,"tid":1,"pid":"CPU functions","args":{}}
  ])",
                                                 "trace.json");
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_TRUE(trace.kernels[0].is_layout_change) << "the state is made for the LSTM";
  EXPECT_EQ(trace.kernels[1].name, "aten::lstm");
  EXPECT_DOUBLE_EQ(trace.kernels[1].run_ms.back(), 0.020);
  EXPECT_THAT(trace.notes,
              testing::Contains(testing::HasSubstr("1 of 3 runs called other operators")));
}

// A layer of nn.TransformerEncoder in eval mode: 40 µs, of which the two products show 10 and 20.
TEST(RuntimeTrace, OperatorsInsideAWholeBlockOfATransformerCount) {
  const RuntimeTrace trace = parse_runtime_trace(R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::embedding","pid":1,"tid":1,"ts":0,"dur":5},
    {"ph":"X","cat":"cpu_op","name":"aten::_transformer_encoder_layer_fwd","pid":1,"tid":1,"ts":10,"dur":40},
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":12,"dur":10},
    {"ph":"X","cat":"cpu_op","name":"aten::resolve_conj","pid":1,"tid":1,"ts":13,"dur":1},
    {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":25,"dur":20},
    {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":60,"dur":7}]})",
                                                 "file");
  std::vector<std::string> names;
  for (const RuntimeKernel& kernel : trace.kernels) names.push_back(kernel.name);
  EXPECT_EQ(names, (std::vector<std::string>{"aten::embedding", "aten::mm", "aten::addmm",
                                             "aten::linear"}));
  EXPECT_NEAR(trace.kernels[1].run_ms.front(), 0.010 * 40 / 30, 1e-12);
  EXPECT_NEAR(trace.kernels[2].run_ms.front(), 0.020 * 40 / 30, 1e-12);
  EXPECT_NEAR(trace.runs_ms.front(), 0.005 + 0.040 + 0.007, 1e-12);
}

TEST(RuntimeTrace, NamesOfTensorRTListTheirNodes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(nodes_of_layer("PWN(add, PWN(relu)) + (conv)"), (Names{"add", "relu", "conv"}));
  EXPECT_EQ(nodes_of_layer("PWN(PWN(Softplus_1, PWN(Tanh_2)), Mul_3)"),
            (Names{"Softplus_1", "Tanh_2", "Mul_3"}));
  EXPECT_EQ(nodes_of_layer("/m/conv/Conv || /n/conv/Conv"),
            (Names{"/m/conv/Conv", "/n/conv/Conv"}));
  EXPECT_EQ(nodes_of_layer("PWN(/c_output_0 + (Unnamed Layer* 720) [Shuffle], /Pow)"),
            (Names{"/c_output_0", "/Pow"}));
  EXPECT_EQ(nodes_of_layer("relu(1 + relu)2"), (Names{"relu(1 + relu)2"})) << "one name";
  EXPECT_EQ(nodes_of_layer("{ForeignNode[first.weight.../last/Add]}"),
            (Names{"first.weight", "/last/Add"}));
}

TEST(RuntimeTrace, CopiesOfTensorRTServeALayer) {
  const RuntimeTrace trace = parse_runtime_trace(
      R"json([{"name":"Reformatting CopyNode for Input Tensor 0 to conv1 + relu1","averageMs":1},
          {"name":"conv1 + relu1 input reformatter 0","averageMs":1},
          {"name":"conv1_output copy","averageMs":1},
          {"name":"{ForeignNode[first...last]}","averageMs":1}])json",
      "file");
  EXPECT_TRUE(trace.kernels[0].is_layout_change);
  EXPECT_TRUE(trace.kernels[1].is_layout_change);
  EXPECT_EQ(trace.kernels[0].node_names, trace.kernels[1].node_names);
  EXPECT_TRUE(trace.kernels[2].is_layout_change);
  EXPECT_EQ(trace.kernels[2].node_names, std::vector<std::string>{"conv1_output"});
  EXPECT_TRUE(trace.kernels[3].is_region);
}

TEST(RuntimeTrace, TablesOfLiteRtOfEveryVersion) {
  const std::string rows[] = {
      "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\n"
      "CONV_2D, 0, 9, 1.5, 50%, 50%, 0, 1, [a, b;c]:0\n",
      "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n"
      "CONV_2D, 9, 1.5, 50%, 50%, 0, 1, [a\tb;c]:0\n",
      "\t [node type]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]\n"
      "\t CONV_2D\t 9.000\t 1.500\t 50.000%\t 50.000%\t 0.000\t 1\t[a, b;c]:0\n",
      "\t [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t"
      "[Name]\n\t CONV_2D\t 0.000\t 9.000\t 1.500\t 50.000%\t 50.000%\t 0.000\t 1\t[a, b;c]:0\n"};
  for (const std::string& text : rows) {
    const RuntimeTrace trace = parse_runtime_trace("==== Run Order ====\n" + text, "file");
    ASSERT_EQ(trace.kernels.size(), 1u) << text;
    EXPECT_EQ(trace.kernels[0].op, "CONV_2D") << text;
    EXPECT_DOUBLE_EQ(trace.kernels[0].run_ms.front(), 1.5) << text;
    EXPECT_EQ(trace.kernels[0].fused_names, (std::vector<std::string>{"a", "b", "c"})) << text;
  }
}

TEST(RuntimeTrace, OperatorsOfADelegateOfLiteRtReplaceItsRow) {
  const RuntimeTrace trace = parse_runtime_trace(
      "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
      "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n"
      "TfLiteXNNPackDelegate, 9, 4, 100%, 100%, 0, 1, [out]:7\n\n"
      "Delegate internal: \n"
      "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n"
      "Convolution (NHWC, F32) IGEMM, 9, 1.5, 50%, 50%, 0, 1, Delegate/Convolution (NHWC\t F32) "
      "IGEMM:0\n"
      "Fully Connected (NC, F32) GEMM, 9, 1, 50%, 50%, 0, 2, Delegate/Fully Connected (NC\t F32) "
      "GEMM:1\n",
      "file");
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_EQ(trace.kernels[0].op, "Convolution");
  EXPECT_EQ(trace.kernels[1].op, "Fully Connected");
  EXPECT_DOUBLE_EQ(trace.kernels[0].run_ms.front(), 1.5);
  EXPECT_DOUBLE_EQ(trace.kernels[1].run_ms.front(), 2 * 1.0);  // two calls in a run
  EXPECT_DOUBLE_EQ(trace.kernels[2].run_ms.front(), 4 - 1.5 - 2);
}

TEST(RuntimeTrace, OpenVinoListsFusedLayersAfterTheirKernel) {
  const std::string header = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)";
  const RuntimeTrace trace = parse_runtime_trace(
      header +
          "\nConvert_3;Status.EXECUTED;Subgraph;jit_I8;0.01;0.01\n"
          "Multiply_7;Status.EXECUTED;Convolution;brgconv_bf16;0.5;0.5\n"
          "add;Status.NOT_RUN;Add;undef;0.000;0.000\nrelu;Status.NOT_RUN;Relu;undef;0;0\n"
          "flatten;Status.NOT_RUN;Reshape;unknown_bf16;0.000;0.000\nTotal;;;;0.51;0.51\n",
      "file");
  ASSERT_EQ(trace.kernels.size(), 2u);
  EXPECT_TRUE(trace.kernels[0].is_layout_change);
  EXPECT_EQ(trace.kernels[1].fused_names, (std::vector<std::string>{"Multiply_7", "add", "relu"}));
  // Sorted by time, with a share of the time.
  const RuntimeTrace sorted = parse_runtime_trace(
      header + ";proportion(%)\na;b;Status.EXECUTED;Add;ref_f32;2;2;80.00%\n", "file");
  EXPECT_EQ(sorted.kernels.at(0).name, "a;b");
  EXPECT_DOUBLE_EQ(sorted.kernels.at(0).run_ms.front(), 2);
}

TEST(RuntimeTrace, ReportsOfOpenVinoWithoutCountersAreRefused) {
  EXPECT_THAT(message_for("Command line parameters\n-m;model.onnx\n"),
              testing::HasSubstr("detailed_counters"));
  EXPECT_THAT(message_for(R"({"cmd_options":{},"execution_results":{}})"),
              testing::HasSubstr("no times of layers"));
}

// Every damage is refused or read, never a crash.
TEST(RuntimeTrace, DamagedFilesAreRefusedOrRead) {
  for (const char* name : {"onnxruntime_small_cnn.json", "openvino_small_cnn.csv"}) {
    const std::string text = sample(name).substr(0, 4000);
    for (std::size_t at = 0; at < text.size(); at += 7) {
      message_for(text.substr(0, at));
      message_for(text.substr(0, at) + "]");
      for (const char damage : {'"', '[', '{', '-', '\xff', '\0', ';', '9'}) {
        std::string damaged = sample(name);
        damaged[at] = damage;
        if (at % 35 == 0) message_for(damaged);
      }
    }
  }
}

TEST(RuntimeTrace, MessagesSayWhatIsWrong) {
  EXPECT_THAT(message_for("[{\"cat\":\"Node\"},"), testing::HasSubstr("ends in the middle"));
  EXPECT_THAT(message_for("a;b;\xff"), testing::HasSubstr("is not text"));
  EXPECT_THAT(message_for(R"([{"name":"a","averageMs":0}])"), testing::HasSubstr("took time"));
}

}  // namespace
}  // namespace assay
