#include "memory/sharing.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace assay::memory {

namespace {

using Names = std::unordered_set<std::string_view>;

constexpr std::array<std::size_t, 1> kFirst = {0};
constexpr std::array<std::size_t, 1> kSecond = {1};
constexpr std::array<std::size_t, 2> kEither = {0, 1};
constexpr std::array<std::size_t, 2> kBranches = {1, 2};

// Ops of one operand; what further inputs they have are settings.
const Names& unary_ops() {
  static const Names names = {"Abs",         "Acos",      "Acosh",     "Asin",
                              "Asinh",       "Atan",      "Atanh",     "BitwiseNot",
                              "Cast",        "CastLike",  "Ceil",      "Celu",
                              "Clip",        "Cos",       "Cosh",      "Elu",
                              "Erf",         "Exp",       "Floor",     "Gelu",
                              "HardSigmoid", "HardSwish", "LeakyRelu", "Log",
                              "Mish",        "Neg",       "Not",       "PRelu",
                              "Reciprocal",  "Relu",      "Round",     "Selu",
                              "Shrink",      "Sigmoid",   "Sign",      "Sin",
                              "Sinh",        "Softplus",  "Softsign",  "Sqrt",
                              "Swish",       "Tan",       "Tanh",      "ThresholdedRelu"};
  return names;
}

const Names& binary_ops() {
  static const Names names = {
      "Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
      "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
      "Less",       "LessOrEqual", "Mod",      "Mul",        "Or",
      "Pow",        "Sub",         "Xor"};
  return names;
}

// Gradients computed element by element from the gradient of the output.
std::span<const std::size_t> overwritable_by_own(const Node& node) {
  if (node.op == "ReluGradient" || node.op == "GeluGradient") return kSecond;
  return node.op == "Dropout" ? kFirst : std::span<const std::size_t>{};
}

bool is_inference_batch_norm(const Node& node) {
  const auto outputs = std::ranges::count_if(node.outputs, &ValueId::is_valid);
  return node.op == "BatchNormalization" && outputs == 1 && node.int_or("training_mode", 0) == 0;
}

}  // namespace

bool is_view(const Node& node) {
  static const Names names = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  return node.is_standard() && names.contains(node.op);
}

std::span<const std::size_t> overwritable_inputs(const Node& node) {
  if (node.domain == kOwnDomain) return overwritable_by_own(node);
  if (!node.is_standard()) return {};
  if (unary_ops().contains(node.op)) return kFirst;
  if (binary_ops().contains(node.op)) return kEither;
  if (node.op == "Where") return kBranches;
  if (accumulates(node) || is_inference_batch_norm(node)) return kFirst;
  return {};
}

bool accumulates(const Node& node) {
  static const Names names = {"Max", "Mean", "Min", "Sum"};
  return node.is_standard() && names.contains(node.op);
}

}  // namespace assay::memory
