#include "kernels/named_activation.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "kernels/activation.h"

namespace assay {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct KnownFunction {
  const char* name = nullptr;
  double (*function)(double, double, double) = nullptr;
  std::optional<double> alpha = {};  // its default; nothing when the function has none
  std::optional<double> beta = {};
};

const KnownFunction kFunctions[] = {
    {"relu", [](double x, double, double) { return rectified(x); }, {}, {}},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, {}, {}},
    {"sigmoid", [](double x, double, double) { return sigmoid(x); }, {}, {}},
    {"softsign", [](double x, double, double) { return softsign(x); }, {}, {}},
    {"softplus", [](double x, double, double) { return softplus(x); }, {}, {}},
    {"leakyrelu", [](double x, double a, double) { return leaky_rectified(x, a); }, 0.01, {}},
    {"thresholdedrelu", [](double x, double a, double) { return thresholded(x, a); }, 1.0, {}},
    {"elu", [](double x, double a, double) { return elu(x, a); }, 1.0, {}},
    {"affine", [](double x, double a, double b) { return a * x + b; }, 1.0, 0.0},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 1.0, 1.0},
    {"hardsigmoid", hard_sigmoid, 0.2, 0.5},
    {"clip", clamped, -kInfinity, kInfinity},
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
  NamedActivation activation = {known.function, 0, 0};
  if (known.alpha) activation.alpha = alphas.next_or(*known.alpha);
  if (known.beta) activation.beta = betas.next_or(*known.beta);
  return activation;
}

}  // namespace assay
