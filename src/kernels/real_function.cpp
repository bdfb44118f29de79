// Functions of mathematics, element by element: Exp, Log, Erf, the circular and hyperbolic ones;
// and the predicates IsNaN and IsInf.
#include <cmath>

#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

template <double (*Function)(double)>
std::vector<Tensor> function_of(const KernelCall& call) {
  return mapped(call, Function);
}

double reciprocal(double x) {
  return 1 / x;
}

template <typename Question>
std::vector<Tensor> answered(const KernelCall& call, Question question) {
  const Tensor& input = call.input(0);
  const auto values = load_real(call, input);
  std::vector<std::uint8_t> truths;
  truths.reserve(values.size());
  for (const double value : values) truths.push_back(question(value) ? 1 : 0);
  return {Tensor::of<std::uint8_t>(DataType::Bool, input.dims(), truths)};
}

std::vector<Tensor> is_nan(const KernelCall& call) {
  return answered(call, [](double x) { return std::isnan(x); });
}

std::vector<Tensor> is_infinite(const KernelCall& call) {
  const bool finds_negative = call.node.int_or("detect_negative", 1) != 0;
  const bool finds_positive = call.node.int_or("detect_positive", 1) != 0;
  return answered(
      call, [=](double x) { return std::isinf(x) && (x < 0 ? finds_negative : finds_positive); });
}

}  // namespace

void add_real_function_kernels(KernelTable& table) {
  table["Exp"] = function_of<std::exp>;
  table["Log"] = function_of<std::log>;
  table["Reciprocal"] = function_of<reciprocal>;
  table["Erf"] = function_of<std::erf>;
  table["Sin"] = function_of<std::sin>;
  table["Cos"] = function_of<std::cos>;
  table["Tan"] = function_of<std::tan>;
  table["Asin"] = function_of<std::asin>;
  table["Acos"] = function_of<std::acos>;
  table["Atan"] = function_of<std::atan>;
  table["Sinh"] = function_of<std::sinh>;
  table["Cosh"] = function_of<std::cosh>;
  table["Tanh"] = function_of<std::tanh>;
  table["Asinh"] = function_of<std::asinh>;
  table["Acosh"] = function_of<std::acosh>;
  table["Atanh"] = function_of<std::atanh>;
  table["IsNaN"] = is_nan;
  table["IsInf"] = is_infinite;
}

}  // namespace assay::kernels
