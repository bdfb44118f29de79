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

TEST(RuntimeTrace, NamesOfTensorRTListTheirNodes) {
  const RuntimeTrace trace = parse_runtime_trace(
      R"json([{"name":"PWN(add, PWN(relu)) + (conv)","averageMs":1},
          {"name":"{ForeignNode[first...last]}","averageMs":1}])json",
      "file");
  EXPECT_EQ(trace.kernels[0].fused_names.back(), "conv");
  EXPECT_TRUE(trace.kernels[1].is_region);
  EXPECT_EQ(trace.kernels[1].fused_names, (std::vector<std::string>{"first", "last"}));
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
