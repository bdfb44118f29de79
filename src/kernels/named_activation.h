// Activation functions that attributes name by text, as RNN, GRU, LSTM and fused ops do, with their
// optional alpha and beta.
#pragma once

#include <span>
#include <string>

#include "kernels/kernel.h"

namespace assay::kernels {

struct NamedActivation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double (*slope)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const { return function(x, alpha, beta); }
  double slope_at(double x) const { return slope(x, alpha, beta); }
};

// Numbers of an attribute, each handed out once.
class ActivationParameters {
 public:
  explicit ActivationParameters(std::span<const float> numbers) : numbers_(numbers) {}

  double next_or(double otherwise) {
    return used_ < numbers_.size() ? static_cast<double>(numbers_[used_++]) : otherwise;
  }

 private:
  std::span<const float> numbers_;
  std::size_t used_ = 0;
};

// The function of that name, in letters of either case; takes an alpha and a beta only if it has
// them. Clip has its bounds for alpha and beta.
NamedActivation named_activation(const KernelCall& call, const std::string& name,
                                 ActivationParameters& alphas, ActivationParameters& betas);

}  // namespace assay::kernels
