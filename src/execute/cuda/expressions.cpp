#include "execute/cuda/expressions.h"

#include <fmt/core.h>

#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

struct Call {
  const Node& node;
  const std::vector<std::string>& inputs;
  const std::string& type;

  const std::string& in(std::size_t i) const { return inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
  bool is_float() const { return type == "float" || type == "double"; }
  std::string number(double value) const { return number_text(value, type); }
  std::string attribute(const char* name, float otherwise) const {
    return number(node.float_or(name, otherwise));
  }
};

using Write = std::optional<Operation> (*)(const Call&);

template <typename... Args>
Operation written(fmt::format_string<Args...> format, Args&&... args) {
  return {fmt::format(format, std::forward<Args>(args)...)};
}

std::optional<Operation> folded(const Call& call, const char* between) {
  std::string text = call.in(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i)
    text = fmt::format("({} {} {})", text, between, call.in(i));
  return Operation{text};
}

std::optional<Operation> folded_by(const Call& call, const char* function) {
  std::string text = call.in(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i)
    text = fmt::format("{}({}, {})", function, text, call.in(i));
  return Operation{text};
}

template <char kOperator>
std::optional<Operation> infix(const Call& call) {
  const char text[] = {kOperator, 0};
  return folded(call, text);
}

#define FUNCTION(name)                                                                        \
  [](const Call& call) -> std::optional<Operation> {                                          \
    return call.is_float() ? std::optional(written(#name "({})", call.in(0))) : std::nullopt; \
  }
#define COMPARISON(between)                                         \
  [](const Call& call) -> std::optional<Operation> {                \
    return written("({} " #between " {})", call.in(0), call.in(1)); \
  }

std::optional<Operation> same(const Call& call) {
  return Operation{call.in(0), 0};
}

std::optional<Operation> clip(const Call& call) {
  const auto limit = [&](std::size_t input, const char* attribute) -> std::string {
    if (call.has(input)) return call.in(input);
    const auto* value = call.node.get<float>(attribute);
    return value != nullptr ? call.number(*value) : "";
  };
  const std::string low = limit(1, "min");
  const std::string high = limit(2, "max");
  std::string text = call.in(0);
  if (!low.empty()) text = fmt::format("larger({}, {})", text, low);
  if (!high.empty()) text = fmt::format("smaller({}, {})", text, high);
  return Operation{text};
}

std::optional<Operation> gelu(const Call& call) {
  if (!call.is_float()) return {};
  const std::string& x = call.in(0);
  if (call.node.string_or("approximate", "none") == "tanh") {
    return written("({0} * {1} * ({2} + tanh({3} * ({0} + {4} * {0} * {0} * {0}))))", x,
                   call.number(0.5), call.number(1), call.number(0.7978845608028654),
                   call.number(0.044715));
  }
  return written("({0} * {1} * ({2} + erf({0} * {3})))", x, call.number(0.5), call.number(1),
                 call.number(0.7071067811865476));
}

// The slope of GELU at the first input, times the second.
std::optional<Operation> gelu_gradient(const Call& call) {
  if (!call.is_float()) return {};
  const bool is_tanh = call.node.string_or("approximate", "none") == "tanh";
  return written("({} * {}({}))", call.in(1), is_tanh ? "gelu_tanh_slope" : "gelu_slope",
                 call.in(0));
}

std::optional<Operation> modulo(const Call& call) {
  const bool truncates = call.node.int_or("fmod", 0) != 0;
  if (call.is_float()) {
    if (!truncates) return {};
    return written("fmod({}, {})", call.in(0), call.in(1));
  }
  return written("{}({}, {})", truncates ? "rest_of" : "modulus", call.in(0), call.in(1));
}

std::optional<Operation> shift(const Call& call) {
  const bool left = call.node.string_or("direction", "") == "LEFT";
  return written("({0})({2} < sizeof({0}) * 8 ? {1} {3} {2} : 0)", call.type, call.in(0),
                 call.in(1), left ? "<<" : ">>");
}

const std::unordered_map<std::string, Write>& table() {
  static const std::unordered_map<std::string, Write> kTable = {
      {"Identity", same},
      {"Cast", same},
      {"CastLike", same},
      {"Dropout", same},
      {"Add", infix<'+'>},
      {"Sub", infix<'-'>},
      {"Mul", infix<'*'>},
      {"Sum", infix<'+'>},
      {"And", infix<'&'>},
      {"Or", infix<'|'>},
      {"Xor", infix<'^'>},
      {"BitwiseAnd", infix<'&'>},
      {"BitwiseOr", infix<'|'>},
      {"BitwiseXor", infix<'^'>},
      {"Min", [](const Call& call) { return folded_by(call, "smaller"); }},
      {"Max", [](const Call& call) { return folded_by(call, "larger"); }},
      {"Mean",
       [](const Call& call) -> std::optional<Operation> {
         return written("({} / {})", folded(call, "+")->expression,
                        call.number(static_cast<double>(call.inputs.size())));
       }},
      {"Div",
       [](const Call& call) -> std::optional<Operation> {
         if (call.is_float()) return written("({} / {})", call.in(0), call.in(1));
         return written("quotient({}, {})", call.in(0), call.in(1));
       }},
      {"Pow",
       [](const Call& call) -> std::optional<Operation> {
         if (call.is_float())
           return written("pow({}, ({})({}))", call.in(0), call.type, call.in(1));
         return written("power({}, {})", call.in(0), call.in(1));
       }},
      {"Mod", modulo},
      {"BitShift", shift},
      {"Equal", COMPARISON(==)},
      {"Less", COMPARISON(<)},
      {"LessOrEqual", COMPARISON(<=)},
      {"Greater", COMPARISON(>)},
      {"GreaterOrEqual", COMPARISON(>=)},
      {"Where",
       [](const Call& call) -> std::optional<Operation> {
         return written("({} ? {} : {})", call.in(0), call.in(1), call.in(2));
       }},
      {"Not",
       [](const Call& call) -> std::optional<Operation> { return written("!{}", call.in(0)); }},
      {"BitwiseNot",
       [](const Call& call) -> std::optional<Operation> { return written("(~{})", call.in(0)); }},
      {"Neg",
       [](const Call& call) -> std::optional<Operation> { return written("(-{})", call.in(0)); }},
      {"Abs",
       [](const Call& call) -> std::optional<Operation> {
         if (call.is_float()) return written("fabs({})", call.in(0));
         return written("({0} < 0 ? ({1})-{0} : {0})", call.in(0), call.type);
       }},
      {"Sign",
       [](const Call& call) -> std::optional<Operation> {
         return written("sign_of({})", call.in(0));
       }},
      {"Relu",
       [](const Call& call) -> std::optional<Operation> {
         return written("relu({})", call.in(0));
       }},
      {"Exp", FUNCTION(exp)},
      {"Log", FUNCTION(log)},
      {"Sqrt", FUNCTION(sqrt)},
      {"Erf", FUNCTION(erf)},
      {"Tanh", FUNCTION(tanh)},
      {"Sin", FUNCTION(sin)},
      {"Cos", FUNCTION(cos)},
      {"Tan", FUNCTION(tan)},
      {"Asin", FUNCTION(asin)},
      {"Acos", FUNCTION(acos)},
      {"Atan", FUNCTION(atan)},
      {"Sinh", FUNCTION(sinh)},
      {"Cosh", FUNCTION(cosh)},
      {"Asinh", FUNCTION(asinh)},
      {"Acosh", FUNCTION(acosh)},
      {"Atanh", FUNCTION(atanh)},
      {"Floor", FUNCTION(floor)},
      {"Ceil", FUNCTION(ceil)},
      {"Round", FUNCTION(rint)},
      {"Sigmoid", FUNCTION(sigmoid)},
      {"Softplus", FUNCTION(softplus)},
      {"Gelu", gelu},
      {"Clip", clip},
      {"IsNaN",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} != {0})", call.in(0));
       }},
      {"IsInf",
       [](const Call& call) -> std::optional<Operation> {
         const bool finds_positive = call.node.int_or("detect_positive", 1) != 0;
         const bool finds_negative = call.node.int_or("detect_negative", 1) != 0;
         return written("(isinf({0}) && (({0} > 0 && {1}) || ({0} < 0 && {2})))", call.in(0),
                        finds_positive, finds_negative);
       }},
      {"assay.ReluGradient",
       [](const Call& call) -> std::optional<Operation> {
         return written("({} > 0 ? {} : {})", call.in(0), call.in(1), call.number(0));
       }},
      {"assay.GeluGradient", gelu_gradient},
      {"Reciprocal",
       [](const Call& call) -> std::optional<Operation> {
         return written("({} / {})", call.number(1), call.in(0));
       }},
      {"LeakyRelu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} < 0 ? {0} * {1} : {0})", call.in(0), call.attribute("alpha", 0.01f));
       }},
      {"PRelu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} < 0 ? {0} * {1} : {0})", call.in(0), call.in(1));
       }},
      {"Elu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} < 0 ? {1} * expm1({0}) : {0})", call.in(0),
                        call.attribute("alpha", 1));
       }},
      {"Celu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} < 0 ? {1} * expm1({0} / {1}) : {0})", call.in(0),
                        call.attribute("alpha", 1));
       }},
      {"Selu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({2} * ({0} > 0 ? {0} : {1} * expm1({0})))", call.in(0),
                        call.attribute("alpha", 1.67326319217681884765625f),
                        call.attribute("gamma", 1.05070102214813232421875f));
       }},
      {"ThresholdedRelu",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} > {1} ? {0} : {2})", call.in(0), call.attribute("alpha", 1),
                        call.number(0));
       }},
      {"HardSigmoid",
       [](const Call& call) -> std::optional<Operation> {
         return written("limited({0} * {1} + {2}, {3}, {4})", call.in(0),
                        call.attribute("alpha", 0.2f), call.attribute("beta", 0.5f), call.number(0),
                        call.number(1));
       }},
      {"HardSwish",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} * limited({0} * {1} + {2}, {3}, {4}))", call.in(0),
                        call.number(1.0 / 6), call.number(0.5), call.number(0), call.number(1));
       }},
      {"Softsign",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} / ({1} + fabs({0})))", call.in(0), call.number(1));
       }},
      {"Mish",
       [](const Call& call) -> std::optional<Operation> {
         return written("({0} * tanh(softplus({0})))", call.in(0));
       }},
      {"Shrink",
       [](const Call& call) -> std::optional<Operation> {
         if (!call.is_float()) return {};
         return written("({0} < -{1} ? {0} + {2} : {0} > {1} ? {0} - {2} : {3})", call.in(0),
                        call.attribute("lambd", 0.5f), call.attribute("bias", 0), call.number(0));
       }},
  };
  return kTable;
}

}  // namespace

std::string table_name(const Node& node) {
  return node.is_standard() ? node.op : node.domain + "." + node.op;
}

bool has_expression(const Node& node) {
  return table().contains(table_name(node));
}

std::vector<std::string> ops_with_expressions() {
  std::vector<std::string> ops;
  for (const auto& [op, write] : table()) ops.push_back(op);
  return ops;
}

std::optional<Operation> operation_of(const Node& node, const std::vector<std::string>& inputs,
                                      const std::string& type) {
  return table().at(table_name(node))({node, inputs, type});
}

}  // namespace assay::cuda
