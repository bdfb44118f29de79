#include <algorithm>
#include <cmath>

#include "assay/run.h"
#include "base/fail.h"

namespace assay {

namespace {

bool holds_numbers(DataType type) {
  return is_floating(type) || is_integer(type) || type == DataType::Bool;
}

std::string mismatch_of(const Tensor& actual, const Tensor& expected) {
  if (actual.type() != expected.type()) {
    return fmt::format("is {}, expected {}", name(actual.type()), name(expected.type()));
  }
  if (actual.dims() != expected.dims()) {
    return fmt::format("has shape {}, expected {}", actual.shape().to_string(),
                       expected.shape().to_string());
  }
  return "";
}

void compare_elements(double actual, double expected, const Tolerance& tolerance,
                      TensorDifference& difference) {
  const bool is_same = actual == expected || (std::isnan(actual) && std::isnan(expected));
  if (is_same) return;
  const double error = std::abs(actual - expected);
  const double size = std::abs(expected);
  const bool is_near = error <= tolerance.absolute + tolerance.relative * size;  // false for NaN
  if (!is_near || !std::isfinite(actual) || !std::isfinite(expected)) ++difference.differing;
  if (!std::isfinite(error)) return;
  difference.largest_absolute = std::max(difference.largest_absolute, error);
  if (size > tolerance.absolute) {
    difference.largest_relative = std::max(difference.largest_relative, error / size);
  }
}

TensorDifference compare_numbers(const Tensor& actual, const Tensor& expected,
                                 const Tolerance& tolerance) {
  const auto ours = actual.to_double();
  const auto theirs = expected.to_double();
  TensorDifference difference;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    compare_elements(ours[i], theirs[i], tolerance, difference);
  }
  return difference;
}

}  // namespace

TensorSummary summarize_tensor(const Tensor& tensor) {
  TensorSummary summary;
  if (!tensor.has_value() || !holds_numbers(tensor.type())) return summary;
  double sum = 0;
  std::int64_t finite = 0;
  for (const double number : tensor.to_double()) {
    summary.nan_count += std::isnan(number) ? 1 : 0;
    summary.infinite_count += std::isinf(number) ? 1 : 0;
    if (!std::isfinite(number)) continue;
    summary.min = std::min(summary.min.value_or(number), number);
    summary.max = std::max(summary.max.value_or(number), number);
    sum += number;
    ++finite;
  }
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  return summary;
}

TensorDifference tensor_difference(const Tensor& actual, const Tensor& expected,
                                   const Tolerance& tolerance) {
  TensorDifference difference{.mismatch = mismatch_of(actual, expected)};
  if (!difference.mismatch.empty() || actual == expected) return difference;
  if (holds_numbers(actual.type())) return compare_numbers(actual, expected, tolerance);
  difference.mismatch = "differs; not a numeric tensor";
  return difference;
}

}  // namespace assay
