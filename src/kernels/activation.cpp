// Sigmoid, LeakyRelu, Elu, Gelu and other activation functions.
#include "kernels/activation.h"

#include "kernels/broadcast.h"
#include "kernels/families.h"
#include "kernels/numbers.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

template <double (*Function)(double)>
std::vector<Tensor> plain(const KernelCall& call) {
  return mapped(call, Function);
}

double attribute(const KernelCall& call, const char* name, double otherwise) {
  return static_cast<double>(call.node.float_or(name, static_cast<float>(otherwise)));
}

std::vector<Tensor> leaky_relu(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 0.01);
  return mapped(call, [=](double x) { return leaky_rectified(x, alpha); });
}

std::vector<Tensor> exponential_linear(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 1);
  return mapped(call, [=](double x) { return elu(x, alpha); });
}

// Version 1 had shorter constants.
std::vector<Tensor> selu(const KernelCall& call) {
  const bool is_first = call.opset < 6;
  const double alpha = attribute(call, "alpha", is_first ? 1.6732 : 1.67326319217681884765625);
  const double gamma = attribute(call, "gamma", is_first ? 1.0507 : 1.05070102214813232421875);
  return mapped(call, [=](double x) { return gamma * elu(x, alpha); });
}

std::vector<Tensor> celu(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 1);
  if (alpha == 0) call.fail("alpha is 0");
  return mapped(call, [=](double x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}

std::vector<Tensor> gaussian_linear(const KernelCall& call) {
  const std::string approximation = call.node.string_or("approximate", "none");
  if (approximation == "tanh") return mapped(call, gelu_by_tanh);
  if (approximation != "none") call.fail("approximate '{}' is not known", approximation);
  return mapped(call, gelu);
}

std::vector<Tensor> hard_sigmoids(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 0.2);
  const double beta = attribute(call, "beta", 0.5);
  return mapped(call, [=](double x) { return hard_sigmoid(x, alpha, beta); });
}

double hard_swish(double x) {
  return x * hard_sigmoid(x, 1.0 / 6, 0.5);
}

double mish(double x) {
  return x * std::tanh(softplus(x));
}

std::vector<Tensor> thresholded_relu(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 1);
  return mapped(call, [=](double x) { return thresholded(x, alpha); });
}

std::vector<Tensor> swishes(const KernelCall& call) {
  const double alpha = attribute(call, "alpha", 1);
  return mapped(call, [=](double x) { return swish(x, alpha); });
}

// Integers are allowed: they are shifted as real numbers and rounded towards zero.
std::vector<Tensor> shrink(const KernelCall& call) {
  const double bias = attribute(call, "bias", 0);
  const double threshold = attribute(call, "lambd", 0.5);
  const Tensor& input = call.input(0);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(input);
    for (T& value : values) {
      const double x = static_cast<double>(value);
      if (x < -threshold)
        value = from_real<T>(x + bias);
      else if (x > threshold)
        value = from_real<T>(x - bias);
      else if (!std::isnan(x))
        value = T{0};
    }
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), values)};
  });
}

// The slope of PRelu is broadcast to the input. Before opset 7, slopes per channel were written
// without trailing axes.
Dims slope_dims(const KernelCall& call) {
  const Dims& input = call.input(0).dims();
  Dims slope = call.input(1).dims();
  const bool is_per_channel =
      call.opset < 7 && slope.size() == 1 && input.size() > 1 && slope[0] == input[1];
  if (is_per_channel) slope.resize(input.size() - 1, 1);
  return slope;
}

std::vector<Tensor> parametric_relu(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& slope = call.input(1);
  if (input.type() != slope.type()) call.fail("input and slope differ in type");
  const Broadcast pairs(call, input.dims(), slope_dims(call));
  if (pairs.dims() != input.dims())
    call.fail("a slope of {} does not fit {}", join_dims(slope.dims()), join_dims(input.dims()));
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    auto values = load<T>(input);
    const auto slopes = load<T>(slope);
    pairs.for_each([&](std::size_t i, std::size_t, std::size_t s) {
      if (values[i] < T{0}) values[i] = wrapping_product(values[i], slopes[s]);
    });
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), values)};
  });
}

}  // namespace

void add_activation_kernels(KernelTable& table) {
  table["Sigmoid"] = plain<sigmoid>;
  table["Softplus"] = plain<softplus>;
  table["Softsign"] = plain<softsign>;
  table["HardSwish"] = plain<hard_swish>;
  table["Mish"] = plain<mish>;
  table["LeakyRelu"] = leaky_relu;
  table["PRelu"] = parametric_relu;
  table["Elu"] = exponential_linear;
  table["Selu"] = selu;
  table["Celu"] = celu;
  table["Gelu"] = gaussian_linear;
  table["HardSigmoid"] = hard_sigmoids;
  table["ThresholdedRelu"] = thresholded_relu;
  table["Shrink"] = shrink;
  table["Swish"] = swishes;
}

}  // namespace assay::kernels
