#include "execute/cuda/activation_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "execute/cuda/expressions.h"
#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

struct Known {
  const char* op = nullptr;
  std::optional<float> alpha = {};  // its default; nothing when the function has none
  std::optional<float> beta = {};
};

const Known kKnown[] = {{"Relu", {}, {}},
                        {"Tanh", {}, {}},
                        {"Sigmoid", {}, {}},
                        {"Softsign", {}, {}},
                        {"Softplus", {}, {}},
                        {"LeakyRelu", 0.01f, {}},
                        {"ThresholdedRelu", 1.0f, {}},
                        {"Elu", 1.0f, {}},
                        {"Affine", 1.0f, 0.0f},
                        {"ScaledTanh", 1.0f, 1.0f},
                        {"HardSigmoid", 0.2f, 0.5f}};

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::vector<float> floats_of(const Node& node, const char* attribute) {
  const auto* numbers = node.get<std::vector<float>>(attribute);
  return numbers == nullptr ? std::vector<float>{} : *numbers;
}

std::vector<std::string> names_of(const Node& node, const std::vector<std::string>& standard) {
  const auto* given = node.get<std::vector<std::string>>("activations");
  if (given != nullptr && !given->empty()) return *given;
  std::vector<std::string> names = standard;
  if (node.string_or("direction", "forward") == "bidirectional")
    names.insert(names.end(), standard.begin(), standard.end());
  return names;
}

}  // namespace

std::string ActivationText::of(const std::string& x, const std::string& type) const {
  const std::string number = fmt::format("(({})({}))", type, x);
  if (op == "Affine")
    return fmt::format("({} * {} + {})", number_text(alpha, type), number, number_text(beta, type));
  if (op == "ScaledTanh")
    return fmt::format("({} * tanh({} * {}))", number_text(alpha, type), number_text(beta, type),
                       number);
  const Node node{
      .name = "", .op = op, .domain = "", .attributes = {{"alpha", alpha}, {"beta", beta}}};
  return operation_of(node, {number}, type)->expression;
}

std::string ActivationText::slope(const std::string& x, const std::string& type) const {
  static const std::map<std::string, const char*> kSlopes = {
      {"Relu", "({x} > 0 ? {one} : 0)"},
      {"Tanh", "({one} - tanh({x}) * tanh({x}))"},
      {"Sigmoid", "(sigmoid({x}) * ({one} - sigmoid({x})))"},
      {"Softsign", "({one} / (({one} + fabs({x})) * ({one} + fabs({x}))))"},
      {"Softplus", "sigmoid({x})"},
      {"LeakyRelu", "({x} < 0 ? {alpha} : {one})"},
      {"ThresholdedRelu", "({x} > {alpha} ? {one} : 0)"},
      {"Elu", "({x} < 0 ? {alpha} * exp({x}) : {one})"},
      {"Affine", "{alpha}"},
      {"ScaledTanh", "({alpha} * {beta} * ({one} - tanh({beta} * {x}) * tanh({beta} * {x})))"},
      {"HardSigmoid", "({alpha} * {x} + {beta} > 0 && {alpha} * {x} + {beta} < 1 ? {alpha} : 0)"}};
  return fmt::format(fmt::runtime(kSlopes.at(op)), fmt::arg("x", fmt::format("({})({})", type, x)),
                     fmt::arg("one", number_text(1, type)),
                     fmt::arg("alpha", number_text(static_cast<double>(alpha), type)),
                     fmt::arg("beta", number_text(static_cast<double>(beta), type)));
}

// A number of the lists is used by the first function that has such a parameter.
std::optional<std::vector<ActivationText>> recurrent_activations(
    const Node& node, const std::vector<std::string>& standard) {
  const auto alphas = floats_of(node, "activation_alpha");
  const auto betas = floats_of(node, "activation_beta");
  std::size_t used_alphas = 0;
  std::size_t used_betas = 0;
  std::vector<ActivationText> activations;
  for (const std::string& name : names_of(node, standard)) {
    const auto* known =
        std::ranges::find_if(kKnown, [&](const Known& one) { return is_same_word(one.op, name); });
    if (known == std::end(kKnown)) return {};
    ActivationText text{.op = known->op};
    if (known->alpha)
      text.alpha = used_alphas < alphas.size() ? alphas[used_alphas++] : *known->alpha;
    if (known->beta) text.beta = used_betas < betas.size() ? betas[used_betas++] : *known->beta;
    activations.push_back(text);
  }
  const std::size_t directions = node.string_or("direction", "forward") == "bidirectional" ? 2 : 1;
  if (activations.size() != standard.size() * directions) return {};
  return activations;
}

}  // namespace assay::cuda
