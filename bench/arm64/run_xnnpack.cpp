// One convolution by XNNPACK, run a given number of times on one thread, for
// bench/arm64/instructions.py to compare with: conv:… and int8:… as run_model.cpp names them.
#include <xnnpack.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "convolution_sizes.h"

namespace {

using assay::bench::ConvolutionSizes;

void expect(xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  std::fprintf(stderr, "%s: XNNPACK says %d\n", what, static_cast<int>(status));
  std::exit(4);
}

// Numbers are read in vectors, also behind the last.
std::size_t padded(std::int64_t count) {
  return static_cast<std::size_t>(count) + XNN_EXTRA_BYTES;
}

template <typename Number>
struct Images {
  std::vector<Number> source, result;
  explicit Images(const ConvolutionSizes& sizes)
      : source(padded(sizes.channels * sizes.size * sizes.size)), result(source) {}
};

void run_times(xnn_operator_t convolution, int runs) {
  for (int i = 0; i < runs; ++i) expect(xnn_run_operator(convolution, nullptr), "run");
}

void run_floats(const ConvolutionSizes& sizes, int runs) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::uint32_t pad = number(sizes.kernel / 2), kernel = number(sizes.kernel);
  const auto channels = static_cast<std::size_t>(sizes.channels);
  const auto size = static_cast<std::size_t>(sizes.size);
  const std::vector<float> weights(padded(sizes.weights()), 0.01f), bias(padded(sizes.channels));
  Images<float> images(sizes);
  const bool is_depthwise = sizes.groups == sizes.channels;
  xnn_operator_t convolution = nullptr;
  expect(xnn_create_convolution2d_nhwc_f32(
             pad, pad, pad, pad, kernel, kernel, 1, 1, 1, 1, number(sizes.groups),
             channels / static_cast<std::size_t>(sizes.groups),
             channels / static_cast<std::size_t>(sizes.groups), channels, channels, weights.data(),
             bias.data(), -INFINITY, INFINITY, is_depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0,
             &convolution),
         "create");
  expect(xnn_setup_convolution2d_nhwc_f32(convolution, 1, size, size, images.source.data(),
                                          images.result.data(), nullptr),
         "setup");
  run_times(convolution, runs);
}

void run_bytes(const ConvolutionSizes& sizes, int runs) {
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::uint32_t pad = number(sizes.kernel / 2), kernel = number(sizes.kernel);
  const auto channels = static_cast<std::size_t>(sizes.channels);
  const auto size = static_cast<std::size_t>(sizes.size);
  const std::vector<std::int8_t> weights(padded(sizes.weights()), 1);
  const std::vector<std::int32_t> bias(padded(sizes.channels));
  Images<std::int8_t> images(sizes);
  const bool is_depthwise = sizes.groups == sizes.channels;
  xnn_operator_t convolution = nullptr;
  expect(xnn_create_convolution2d_nhwc_qs8(
             pad, pad, pad, pad, kernel, kernel, 1, 1, 1, 1, number(sizes.groups),
             channels / static_cast<std::size_t>(sizes.groups),
             channels / static_cast<std::size_t>(sizes.groups), channels, channels, 3, 0.02f, 0.01f,
             weights.data(), bias.data(), 3, 0.02f, -128, 127,
             is_depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0, &convolution),
         "create");
  expect(xnn_setup_convolution2d_nhwc_qs8(convolution, 1, size, size, images.source.data(),
                                          images.result.data(), nullptr),
         "setup");
  run_times(convolution, runs);
}

}  // namespace

int main(int count, char** words) {
  const auto sizes = count == 3 ? assay::bench::sizes_of(words[1]) : std::nullopt;
  if (!sizes || sizes->kind == "half") {
    std::fprintf(stderr, "usage: run_xnnpack conv|int8:CHANNELS:SIZE:KERNEL:GROUPS:1 RUNS\n");
    return 2;
  }
  expect(xnn_initialize(nullptr), "initialize");
  const int runs = std::atoi(words[2]);
  sizes->kind == "int8" ? run_bytes(*sizes, runs) : run_floats(*sizes, runs);
  return 0;
}
