// Adagrad, Adam and Momentum of ai.onnx.preview.training: one step for any number of tensors.
//
// Sgd, Momentum and Adam of our own domain: the same for one tensor, as PyTorch defines them.
//
// Inputs are the rate, the number of steps so far, then groups of tensors: weights, gradients and
// states. Outputs are the new weights, then the new states.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

struct Step {
  double rate = 0;
  double taken = 0;  // steps so far
};

Step step_of(const KernelCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (call.input(i).elements() != 1) call.fail("input {} is not a scalar", i);
  }
  return {call.input(0).to_double().front(), call.input(1).to_double().front()};
}

double setting(const KernelCall& call, const char* attribute, float otherwise) {
  return static_cast<double>(call.node.float_or(attribute, otherwise));
}

// One element of every group: weight, gradient, states. `update` changes weight and states.
using Element = std::array<double, 4>;

template <std::size_t Groups, typename Update>
std::vector<Tensor> updated(const KernelCall& call, Update update) {
  const std::size_t count = (std::max<std::size_t>(call.inputs.size(), 2) - 2) / Groups;
  if (count == 0 || call.inputs.size() != 2 + count * Groups)
    call.fail("{} inputs do not come in {} equal groups", call.inputs.size(), Groups);
  std::vector<Tensor> outputs((Groups - 1) * count);
  for (std::size_t tensor = 0; tensor < count; ++tensor) {
    std::array<std::vector<double>, Groups> groups;
    const Tensor& weights = call.input(2 + tensor);
    for (std::size_t group = 0; group < Groups; ++group) {
      groups[group] = load_real(call, 2 + group * count + tensor, weights.elements());
    }
    for (std::size_t i = 0; i < groups[0].size(); ++i) {
      Element element = {};
      for (std::size_t group = 0; group < Groups; ++group) element[group] = groups[group][i];
      update(element);
      for (std::size_t group = 0; group < Groups; ++group) groups[group][i] = element[group];
    }
    for (std::size_t group = 0, output = tensor; group < Groups; ++group) {
      if (group == 1) continue;  // the gradient
      outputs[output] = store_real(weights.type(), weights.dims(), groups[group]);
      output += count;
    }
  }
  return outputs;
}

std::vector<Tensor> adagrad(const KernelCall& call) {
  const Step step = step_of(call);
  const double rate = step.rate / (1 + step.taken * setting(call, "decay_factor", 0));
  const double penalty = setting(call, "norm_coefficient", 0);
  const double epsilon = setting(call, "epsilon", 0);
  return updated<3>(call, [&](Element& element) {
    auto& [weight, gradient, squares, unused] = element;
    const double full = penalty * weight + gradient;
    squares += full * full;
    weight -= rate * full / (std::sqrt(squares) + epsilon);
  });
}

std::vector<Tensor> adam(const KernelCall& call) {
  const Step step = step_of(call);
  const double alpha = setting(call, "alpha", 0.9f);
  const double beta = setting(call, "beta", 0.999f);
  const double penalty = setting(call, "norm_coefficient", 0);
  const double shrink = 1 - setting(call, "norm_coefficient_post", 0);
  const double epsilon = setting(call, "epsilon", 0);
  double rate = step.rate;
  if (step.taken > 0) {
    rate *= std::sqrt(1 - std::pow(beta, step.taken)) / (1 - std::pow(alpha, step.taken));
  }
  return updated<4>(call, [&](Element& element) {
    auto& [weight, gradient, mean, squares] = element;
    const double full = penalty * weight + gradient;
    mean = alpha * mean + (1 - alpha) * full;
    squares = beta * squares + (1 - beta) * full * full;
    weight = shrink * (weight - rate * mean / (std::sqrt(squares) + epsilon));
  });
}

std::vector<Tensor> momentum(const KernelCall& call) {
  const Step step = step_of(call);
  const std::string mode = call.node.string_or("mode", "standard");
  if (mode != "standard" && mode != "nesterov") call.fail("mode '{}' is not known", mode);
  const double alpha = setting(call, "alpha", 0);
  const double beta = step.taken > 0 ? setting(call, "beta", 0) : 1;
  const double penalty = setting(call, "norm_coefficient", 0);
  return updated<3>(call, [&](Element& element) {
    auto& [weight, gradient, velocity, unused] = element;
    const double full = penalty * weight + gradient;
    velocity = alpha * velocity + beta * full;
    weight -= step.rate * (mode == "nesterov" ? full + alpha * velocity : velocity);
  });
}

std::vector<Tensor> plain_descent(const KernelCall& call) {
  const Step step = step_of(call);
  const double decay = setting(call, "weight_decay", 0);
  return updated<2>(
      call, [&](Element& element) { element[0] -= step.rate * (element[1] + decay * element[0]); });
}

std::vector<Tensor> descent_with_momentum(const KernelCall& call) {
  const Step step = step_of(call);
  const double decay = setting(call, "weight_decay", 0);
  const double kept = setting(call, "momentum", 0.9f);
  return updated<3>(call, [&](Element& element) {
    auto& [weight, gradient, velocity, unused] = element;
    velocity = kept * velocity + gradient + decay * weight;
    weight -= step.rate * velocity;
  });
}

// The number of the step counts from 1. A decoupled decay shrinks the weight itself.
std::vector<Tensor> adaptive_moments(const KernelCall& call) {
  const Step step = step_of(call);
  const double decay = setting(call, "weight_decay", 0);
  const bool is_decoupled = call.node.int_or("decoupled", 0) != 0;
  const double beta1 = setting(call, "beta1", 0.9f);
  const double beta2 = setting(call, "beta2", 0.999f);
  const double epsilon = setting(call, "epsilon", 1e-8f);
  if (!(step.taken >= 1)) call.fail("steps are counted from 1, this is number {}", step.taken);
  const double mean_share = 1 - std::pow(beta1, step.taken);
  const double square_share = 1 - std::pow(beta2, step.taken);
  return updated<4>(call, [&](Element& element) {
    auto& [weight, gradient, mean, squares] = element;
    const double full = is_decoupled ? gradient : gradient + decay * weight;
    if (is_decoupled) weight *= 1 - step.rate * decay;
    mean = beta1 * mean + (1 - beta1) * full;
    squares = beta2 * squares + (1 - beta2) * full * full;
    weight -= step.rate * (mean / mean_share) / (std::sqrt(squares / square_share) + epsilon);
  });
}

}  // namespace

void add_own_optimizer_kernels(KernelTable& table) {
  table["Sgd"] = plain_descent;
  table["Momentum"] = descent_with_momentum;
  table["Adam"] = adaptive_moments;
}

void add_optimizer_kernels(KernelTable& table) {
  table["Adagrad"] = adagrad;
  table["Adam"] = adam;
  table["Momentum"] = momentum;
}

}  // namespace assay::kernels
