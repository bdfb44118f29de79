// How fast products and convolutions of 16-bit numbers are on one thread, computed in float16 and
// in float32, after their answers are compared. Built by bench/fp16 together with the tests.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "execute/cpu/kernels/panel_convolution.h"

namespace assay::cpu {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of tries that together take about half a second.
double best_seconds(const auto& work) {
  double best = seconds_of(work);
  for (double total = 0; total < 0.5;) {
    const double time = seconds_of(work);
    best = std::min(best, time);
    total += time;
  }
  return best;
}

std::vector<float> random_floats(std::size_t count, float scale) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(generator);
  return numbers;
}

class Measured {
 public:
  explicit Measured(const PanelLayer& layer) : own_(layer, {}, 1) {
    const auto taps = static_cast<std::size_t>(layer.grid.taps());
    const auto pixels = static_cast<std::size_t>(layer.grid.input_elements());
    const auto source = random_floats(pixels * layer.channels, 1);
    source_.resize(source.size());
    simd().narrow(HalfFormat::Float16, source.data(), source_.data(), source.size());
    packed_.resize(own_.weight_floats());
    own_.pack_weights(random_floats(layer.outputs * layer.channels * taps, 0.05f).data(),
                      packed_.data());
    workspace_.resize(own_.workspace_floats());
    result_.resize(static_cast<std::size_t>(layer.grid.output_elements()) * layer.outputs);
  }

  bool may_compute_in_float16() const { return own_.may_compute_in_float16(); }
  void compute_in_float16(const Fp16Kernels& kernels) { own_.compute_in_float16(kernels); }

  void run() {
    own_.run({.source = reinterpret_cast<const float*>(source_.data()),
              .weights = packed_.data(),
              .result = reinterpret_cast<float*>(result_.data()),
              .workspace = workspace_.data()});
  }
  double gflops() {
    return static_cast<double>(own_.flops()) / best_seconds([&] { run(); }) / 1e9;
  }
  std::vector<float> results() {
    run();
    std::vector<float> wide(result_.size());
    simd().widen(HalfFormat::Float16, result_.data(), wide.data(), wide.size());
    return wide;
  }

 private:
  PanelConvolution own_;
  std::vector<std::uint16_t> source_, result_;
  std::vector<float> packed_, workspace_;
};

void expect_near(const std::vector<float>& one, const std::vector<float>& other) {
  double squares = 0, differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    squares += std::pow(static_cast<double>(other[i]), 2);
    differences += std::pow(static_cast<double>(one[i] - other[i]), 2);
  }
  const double error = std::sqrt(differences / squares);
  std::printf(", error %.2g", error);
  EXPECT_LT(error, 2e-3);
}

void measure(const char* name, const PanelLayer& layer) {
  Measured measured(layer);
  const auto in_float32 = measured.results();
  std::printf("%-28s float32 %7.1f GFLOP/s", name, measured.gflops());
  if (fp16() != nullptr && measured.may_compute_in_float16()) {
    measured.compute_in_float16(*fp16());
    expect_near(measured.results(), in_float32);
    std::printf(", float16 %7.1f", measured.gflops());
  }
  std::printf("\n");
}

PanelLayer image_layer(std::int64_t size, std::int64_t kernel, std::size_t channels,
                       std::size_t outputs) {
  PanelLayer layer{.grid = {.rank = 2},
                   .channels = channels,
                   .outputs = outputs,
                   .weights = HalfFormat::Float16,
                   .source = HalfFormat::Float16,
                   .result = HalfFormat::Float16};
  for (const std::size_t axis : {1u, 2u}) {
    layer.grid.axes[axis] = {.input = size,
                             .output = size,
                             .kernel = kernel,
                             .pad_begin = kernel / 2,
                             .pad_end = kernel / 2};
  }
  return layer;
}

PanelLayer matrix_layer(std::int64_t rows, std::size_t depth, std::size_t columns) {
  PanelLayer layer{.grid = {.rank = 1},
                   .channels = depth,
                   .outputs = columns,
                   .weights = HalfFormat::Float16,
                   .source = HalfFormat::Float16,
                   .result = HalfFormat::Float16};
  layer.grid.axes[2].input = layer.grid.axes[2].output = rows;
  return layer;
}

TEST(Fp16Speed, OfProductsAndConvolutions) {
  measure("1x1, 56x56, 64 to 256", image_layer(56, 1, 64, 256));
  measure("1x1, 28x28, 512 to 128", image_layer(28, 1, 512, 128));
  measure("1x1, 14x14, 256 to 1024", image_layer(14, 1, 256, 1024));
  measure("1x1, 7x7, 2048 to 512", image_layer(7, 1, 2048, 512));
  measure("3x3, 56x56, 64 to 64", image_layer(56, 3, 64, 64));
  measure("3x3, 14x14, 256 to 256", image_layer(14, 3, 256, 256));
  measure("128 rows, 768 to 3072", matrix_layer(128, 768, 3072));
  measure("197 rows, 3072 to 768", matrix_layer(197, 3072, 768));
}

}  // namespace
}  // namespace assay::cpu
