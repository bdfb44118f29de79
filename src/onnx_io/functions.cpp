#include "onnx_io/functions.h"

#include "base/fail.h"
#include "onnx_io/node_fields.h"
#include "onnx_io/schema.h"

namespace assay::onnx {

namespace {

std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key(normalised_domain(domain));
  key.append(1, '\0').append(name).append(1, '\0').append(overload);
  return key;
}

void add_default(std::string_view message, const Source& source, Function& function) {
  for (FieldReader field(message, source, "a function's attribute"); field.next();) {
    if (field.number() == attribute_field::kName) function.defaults[field.text()] = message;
  }
}

Function read_function(std::string_view message, const Source& source) {
  Function function;
  for (FieldReader field(message, source, "a function"); field.next();) {
    switch (field.number()) {
      case function_field::kName:
        function.name = field.text();
        break;
      case function_field::kDomain:
        function.domain = normalised_domain(field.text());
        break;
      case function_field::kOverload:
        function.overload = field.text();
        break;
      case function_field::kInput:
        function.inputs.push_back(field.text());
        break;
      case function_field::kOutput:
        function.outputs.push_back(field.text());
        break;
      case function_field::kNode:
        function.nodes.push_back(field.bytes());
        break;
      case function_field::kAttributeDefault:
        add_default(field.bytes(), source, function);
        break;
      case function_field::kOpsetImport:
        read_opset(field.bytes(), source, function.opsets);
        break;
      default:
        break;
    }
  }
  return function;
}

}  // namespace

std::string_view FunctionCall::attribute(std::string_view name) const {
  if (const auto given = attributes.find(name); given != attributes.end()) return given->second;
  const auto standard = function->defaults.find(name);
  return standard == function->defaults.end() ? std::string_view() : standard->second;
}

void FunctionTable::add(std::string_view message, const Source& source) {
  Function function = read_function(message, source);
  if (function.name.empty()) fail_bad_input("a function has no name");
  const std::string key = key_of(function.domain, function.name, function.overload);
  if (!index_.emplace(key, functions_.size()).second) {
    fail_bad_input("function '{}' is defined twice", function.name);
  }
  functions_.push_back(std::move(function));
}

const Function* FunctionTable::find(const NodeFields& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = index_.find(key_of(node.domain, node.op, node.overload));
  return found == index_.end() ? nullptr : &functions_[found->second];
}

namespace {

[[noreturn]] void fail_too_much() {
  fail_bad_input(
      "its functions call each other so often that inlining them makes more than {} nodes or {} "
      "MiB; export the model without functions",
      InliningBudget::kMostNodes, InliningBudget::kMostBytes >> 20);
}

}  // namespace

void InliningBudget::announce(std::size_t nodes) {
  announced_ += nodes;
  if (announced_ > kMostNodes) fail_too_much();
}

void InliningBudget::spend(std::size_t nodes, std::size_t bytes) {
  nodes_ += nodes;
  bytes_ += bytes;
  if (nodes_ > kMostNodes || bytes_ > kMostBytes) fail_too_much();
}

std::string_view normalised_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

void read_opset(std::string_view message, const Source& source,
                std::map<std::string, std::int64_t>& opsets) {
  std::string_view domain;
  std::int64_t version = 0;
  for (FieldReader field(message, source, "an opset import"); field.next();) {
    if (field.number() == opset_field::kDomain) domain = normalised_domain(field.text());
    if (field.number() == opset_field::kVersion) version = field.integer();
  }
  const auto [entry, is_new] = opsets.emplace(domain, version);
  if (!is_new && entry->second != version) {
    fail_bad_input("operator set '{}' is imported twice, as version {} and as {}", domain,
                   entry->second, version);
  }
}

}  // namespace assay::onnx
