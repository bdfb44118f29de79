#include <map>
#include <optional>

#include "base/text.h"
#include "infer/operators/signature.h"

namespace assay::infer {

namespace {

struct Operand {
  std::string_view name = "";
  char count = '1';  // or one of ? * +
  std::string_view variable = "";
  std::string_view kinds = "";

  bool is_variadic() const { return count == '*' || count == '+'; }
};

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return taken;
}

Operand operand_from(std::string_view text) {
  Operand operand{.name = take_until(text, ':')};
  if (const char last = operand.name.back(); last == '?' || last == '*' || last == '+') {
    operand.count = last;
    operand.name.remove_suffix(1);
  }
  if (text.find('=') != std::string_view::npos) operand.variable = take_until(text, '=');
  operand.kinds = text;
  return operand;
}

std::vector<Operand> operands_of(const Signature& signature) {
  std::vector<Operand> operands;
  for (std::string_view left = signature.inputs; !left.empty();)
    operands.push_back(operand_from(take_until(left, ' ')));
  return operands;
}

std::string_view kind_of(const ValueType& type) {
  if (!type.is_tensor()) return "other";
  if (is_floating(type.element)) return "real";
  if (is_integer(type.element)) return "integer";
  if (type.element == DataType::Bool) return "bool";
  return type.element == DataType::String ? "string" : "complex";
}

bool allows(std::string_view kinds, const ValueType& type) {
  if (kinds == "any") return true;
  if (kinds == "tensor") return type.is_tensor();
  while (!kinds.empty()) {
    const std::string_view kind = take_until(kinds, '|');
    if (kind == kind_of(type) || (type.is_tensor() && kind == name(type.element))) return true;
  }
  return false;
}

std::string count_text(std::size_t least, std::size_t most) {
  if (least == most) return std::to_string(least);
  if (most == Signature::kUnlimited) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

void check_input_count(const InferContext& context, const std::vector<Operand>& operands) {
  std::size_t least = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].count == '1' || operands[i].count == '+') least = i + 1;
  }
  const bool is_open = !operands.empty() && operands.back().is_variadic();
  const std::size_t most = is_open ? Signature::kUnlimited : operands.size();
  const std::size_t given = context.input_count();
  if (given >= least && given <= most) return;
  const std::string_view missing = given < least ? operands[given].name : "";
  context.fail("takes {} inputs, has {}{}", count_text(least, most), given,
               missing.empty() ? "" : fmt::format(": '{}' is missing", missing));
}

void check_outputs(const InferContext& context, const Signature& signature) {
  const std::size_t given = context.output_count();
  if (given < signature.least_outputs || given > signature.most_outputs) {
    context.fail("gives {} outputs, has {}",
                 count_text(signature.least_outputs, signature.most_outputs), given);
  }
  for (std::size_t i = 0; i < signature.least_outputs; ++i) {
    if (!context.node().has_output(i)) context.fail("output {} is left out", i);
  }
}

// Inputs with the same type variable have the same type.
class TypeVariables {
 public:
  explicit TypeVariables(const InferContext& context) : context_(context) {}

  void check(const Operand& operand, const ValueType& type) {
    if (type.is_tensor() && type.element == DataType::Undefined) return;
    if (!allows(operand.kinds, type)) {
      context_.fail("input '{}' is {}, takes {}", operand.name, text(type), operand.kinds);
    }
    if (operand.variable.empty() || !type.is_tensor()) return;
    const auto [found, is_first] = bound_.try_emplace(operand.variable, operand.name, type.element);
    if (is_first || found->second.second == type.element) return;
    context_.fail("input '{}' is {}, input '{}' is {}: they must be of one type",
                  found->second.first, name(found->second.second), operand.name,
                  name(type.element));
  }

 private:
  static std::string text(const ValueType& type) {
    return type.is_tensor() ? std::string(name(type.element)) : type.to_string();
  }

  const InferContext& context_;
  std::map<std::string_view, std::pair<std::string_view, DataType>> bound_;
};

void check_inputs(const InferContext& context, const std::vector<Operand>& operands) {
  TypeVariables variables(context);
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Operand& operand = operands[std::min(i, operands.size() - 1)];
    if (context.has(i)) {
      variables.check(operand, context.type(i));
    } else if (operand.count != '?') {
      context.fail("input {} ('{}') is missing", i, operand.name);
    }
  }
}

}  // namespace

void check_operands(const InferContext& context) {
  const Signature* signature = find_signature(context.node(), context.opset());
  if (signature == nullptr) return;
  const std::vector<Operand> operands = operands_of(*signature);
  check_input_count(context, operands);
  check_outputs(context, *signature);
  check_inputs(context, operands);
}

}  // namespace assay::infer
