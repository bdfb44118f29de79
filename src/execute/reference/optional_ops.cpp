// Optional, OptionalHasElement, OptionalGetElement, and Identity, which passes any value on.
#include "execute/reference/value_ops.h"

namespace assay::reference {

namespace {

std::vector<RuntimeValue> optional(const ValueCall& call) {
  std::vector<RuntimeValue> values(1);
  if (call.has(0)) values.front() = std::move(call.input(0));
  return values;
}

std::vector<RuntimeValue> has_element(const ValueCall& call) {
  const std::uint8_t has = call.has(0) ? 1 : 0;
  return {RuntimeValue(Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&has, 1)))};
}

std::vector<RuntimeValue> get_element(const ValueCall& call) {
  if (!call.has(0)) call.fail("the optional is empty");
  return optional(call);
}

}  // namespace

void add_optional_ops(ValueOpTable& table) {
  table["Optional"] = optional;
  table["OptionalHasElement"] = has_element;
  table["OptionalGetElement"] = get_element;
  table["Identity"] = optional;
}

}  // namespace assay::reference
