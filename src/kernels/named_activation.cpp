#include "kernels/named_activation.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "kernels/activation.h"

namespace assay::kernels {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Function = double (*)(double x, double alpha, double beta);

struct KnownFunction {
  const char* name = nullptr;
  Function function = nullptr;
  Function slope = nullptr;          // at a kink, that of one of its sides
  std::optional<double> alpha = {};  // its default; nothing when the function has none
  std::optional<double> beta = {};
};

template <double (*function)(double)>
double of_one(double x, double, double) {
  return function(x);
}

template <double (*function)(double, double)>
double of_two(double x, double alpha, double) {
  return function(x, alpha);
}

double hyperbolic_tangent(double x) {
  return std::tanh(x);
}

double tanh_slope(double x) {
  const double y = std::tanh(x);
  return 1 - y * y;
}

double sigmoid_slope(double x) {
  const double y = sigmoid(x);
  return y * (1 - y);
}

double softsign_slope(double x) {
  const double divisor = 1 + std::fabs(x);
  return 1 / (divisor * divisor);
}

double rectified_slope(double x) {
  return x > 0 ? 1 : 0;
}

double leaky_slope(double x, double alpha) {
  return x < 0 ? alpha : 1;
}

double thresholded_slope(double x, double alpha) {
  return x > alpha ? 1 : 0;
}

double elu_slope(double x, double alpha) {
  return x < 0 ? alpha * std::exp(x) : 1;
}

double affine(double x, double alpha, double beta) {
  return alpha * x + beta;
}

double affine_slope(double, double alpha) {
  return alpha;
}

double scaled_tanh(double x, double alpha, double beta) {
  return alpha * std::tanh(beta * x);
}

double scaled_tanh_slope(double x, double alpha, double beta) {
  return alpha * beta * tanh_slope(beta * x);
}

double clamped_slope(double x, double low, double high) {
  return x > low && x < high ? 1 : 0;
}

double hard_sigmoid_slope(double x, double alpha, double beta) {
  return alpha * clamped_slope(alpha * x + beta, 0, 1);
}

const KnownFunction kFunctions[] = {
    {"relu", of_one<rectified>, of_one<rectified_slope>, {}, {}},
    {"tanh", of_one<hyperbolic_tangent>, of_one<tanh_slope>, {}, {}},
    {"sigmoid", of_one<sigmoid>, of_one<sigmoid_slope>, {}, {}},
    {"softsign", of_one<softsign>, of_one<softsign_slope>, {}, {}},
    {"softplus", of_one<softplus>, of_one<sigmoid>, {}, {}},
    {"leakyrelu", of_two<leaky_rectified>, of_two<leaky_slope>, 0.01, {}},
    {"thresholdedrelu", of_two<thresholded>, of_two<thresholded_slope>, 1.0, {}},
    {"elu", of_two<elu>, of_two<elu_slope>, 1.0, {}},
    {"affine", affine, of_two<affine_slope>, 1.0, 0.0},
    {"scaledtanh", scaled_tanh, scaled_tanh_slope, 1.0, 1.0},
    {"hardsigmoid", hard_sigmoid, hard_sigmoid_slope, 0.2, 0.5},
    {"clip", clamped, clamped_slope, -kInfinity, kInfinity},
};

const KnownFunction& known_function(const KernelCall& call, const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const KnownFunction& function : kFunctions) {
    if (lower == function.name) return function;
  }
  call.fail("activation '{}' is not known", name);
}

}  // namespace

NamedActivation named_activation(const KernelCall& call, const std::string& name,
                                 ActivationParameters& alphas, ActivationParameters& betas) {
  const KnownFunction& known = known_function(call, name);
  NamedActivation activation = {known.function, known.slope, 0, 0};
  if (known.alpha) activation.alpha = alphas.next_or(*known.alpha);
  if (known.beta) activation.beta = betas.next_or(*known.beta);
  return activation;
}

}  // namespace assay::kernels
