// HannWindow, HammingWindow, BlackmanWindow, and MelWeightMatrix: the constants of audio models.
#include <cmath>
#include <numbers>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/numbers.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

DataType output_type(const KernelCall& call) {
  const auto type = data_type_from_onnx(call.node.int_or("output_datatype", 1));
  if (!type) call.fail("attribute 'output_datatype' names no element type");
  return *type;
}

Tensor stored_as(DataType type, const Dims& dims, const std::vector<double>& values) {
  return with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> rounded(values.size());
    std::ranges::transform(values, rounded.begin(), from_real<T>);
    return store<T>(type, dims, rounded);
  });
}

double scalar(const KernelCall& call, std::size_t input) {
  if (call.input(input).elements() != 1) call.fail("input {} is not a scalar", input);
  return call.input(input).to_double().front();
}

std::int64_t size_input(const KernelCall& call, std::size_t input) {
  const double size = scalar(call, input);
  if (!(size >= 0 && size <= 1e12)) call.fail("input {} is not a size: {}", input, size);
  return static_cast<std::int64_t>(size);
}

// A sum of cosines: constant − first·cos(x) + second·cos(2x), x going once around.
struct Cosines {
  double constant = 0;
  double first = 0;
  double second = 0;
};
constexpr Cosines kHann = {0.5, 0.5, 0};
constexpr Cosines kHamming = {25.0 / 46.0, 21.0 / 46.0, 0};
constexpr Cosines kBlackman = {0.42, 0.5, 0.08};

std::vector<Tensor> window(const KernelCall& call, const Cosines& cosines) {
  const std::int64_t size = size_input(call, 0);
  const bool is_periodic = call.node.int_or("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<std::int64_t>(is_periodic ? size : size - 1, 1));
  std::vector<double> values(result_elements(call, {size}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values[i] =
        cosines.constant - cosines.first * std::cos(angle) + cosines.second * std::cos(2 * angle);
  }
  return {stored_as(output_type(call), {size}, values)};
}

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}

double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

// The spectrum bins where the triangles start, peak and end: `bands` of them, overlapping.
Dims edges(const KernelCall& call, std::int64_t bands, std::int64_t length, std::int64_t bins) {
  const double rate = scalar(call, 2);
  const double low = mel_of(scalar(call, 3));
  const double high = mel_of(scalar(call, 4));
  if (!(rate > 0)) call.fail("a sample rate of {} is not positive", rate);
  const double step = (high - low) / static_cast<double>(bands + 2);
  Dims places;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = hertz_of(static_cast<double>(i) * step + low);
    const double place = std::floor(static_cast<double>(length + 1) * hertz / rate);
    if (!(place >= 0 && place <= static_cast<double>(bins)))
      call.fail("the frequencies do not fit a spectrum of {} bins", bins);
    places.push_back(static_cast<std::int64_t>(place));
  }
  return places;
}

// Writes the triangle of one band, rising from `start` to `peak` and falling to `end`.
template <typename Place>
void write_triangle(std::int64_t start, std::int64_t peak, std::int64_t end, std::int64_t bins,
                    Place place) {
  const auto rise = static_cast<double>(peak - start);
  const auto fall = static_cast<double>(end - peak);
  for (std::int64_t i = start; i <= std::min(peak, bins - 1); ++i) {
    place(i) = rise == 0 ? 1.0 : static_cast<double>(i - start) / rise;
  }
  for (std::int64_t i = peak; i < std::min(end, bins); ++i) {
    place(i) = static_cast<double>(end - i) / fall;
  }
}

std::vector<Tensor> mel_weight_matrix(const KernelCall& call) {
  const std::int64_t bands = size_input(call, 0);
  const std::int64_t length = size_input(call, 1);
  const std::int64_t bins = length / 2 + 1;
  const Dims dims = {bins, bands};
  std::vector<double> weights(result_elements(call, dims), 0.0);
  const Dims places = edges(call, bands, length, bins);
  for (std::int64_t band = 0; band < bands; ++band) {
    const auto first = static_cast<std::size_t>(band);
    write_triangle(places[first], places[first + 1], places[first + 2], bins,
                   [&](std::int64_t bin) -> double& {
                     return weights[static_cast<std::size_t>(bin * bands + band)];
                   });
  }
  return {stored_as(output_type(call), dims, weights)};
}

}  // namespace

void add_window_function_kernels(KernelTable& table) {
  table["HannWindow"] = [](const KernelCall& call) { return window(call, kHann); };
  table["HammingWindow"] = [](const KernelCall& call) { return window(call, kHamming); };
  table["BlackmanWindow"] = [](const KernelCall& call) { return window(call, kBlackman); };
  table["MelWeightMatrix"] = mel_weight_matrix;
}

}  // namespace assay::kernels
