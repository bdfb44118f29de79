// Activation functions of one real number, shared by kernels, recurrent cells and fused ops.
#pragma once

#include <cmath>
#include <numbers>

namespace assay::kernels {

// Of the two equal forms, the one whose exponential cannot overflow.
inline double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double power = std::exp(x);
  return power / (1 + power);
}

// log(1 + exp(x)), without overflow for large x.
inline double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

inline double softsign(double x) {
  return x / (1 + std::fabs(x));
}

inline double rectified(double x) {
  return x < 0 ? 0 : x;
}

inline double leaky_rectified(double x, double alpha) {
  return x < 0 ? alpha * x : x;
}

inline double elu(double x, double alpha) {
  return x < 0 ? alpha * std::expm1(x) : x;
}

inline double thresholded(double x, double alpha) {
  return x > alpha || std::isnan(x) ? x : 0;
}

inline double clamped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

inline double hard_sigmoid(double x, double alpha, double beta) {
  return clamped(alpha * x + beta, 0, 1);
}

// x · Φ(x) with the normal distribution Φ.
inline double gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}

inline double gelu_by_tanh(double x) {
  const double root_of_two_over_pi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return 0.5 * x * (1 + std::tanh(root_of_two_over_pi * (x + 0.044715 * x * x * x)));
}

inline double swish(double x, double alpha) {
  return x * sigmoid(alpha * x);
}

}  // namespace assay::kernels
