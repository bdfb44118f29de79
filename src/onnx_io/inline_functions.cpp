// The part of GraphReader that replaces a call of a model-local function by the function's body.
#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "onnx_io/graph_reader.h"

namespace assay::onnx {

namespace {

constexpr std::size_t kLongestPrefixName = 64;

// A result of a call that the body does not compute itself: an input passed on, or one listed
// twice.
struct PassedOn {
  std::string_view name;
  ValueId result;
};

void bind_call_inputs(const NodeFields& fields, const Function& function, Scope& caller,
                      Scope& body) {
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const bool is_given = i < fields.inputs.size();
    body.bind(function.inputs[i], is_given ? caller.read(fields.inputs[i]) : ValueId());
  }
}

std::vector<PassedOn> bind_call_outputs(const NodeFields& fields, const Function& function,
                                        Scope& caller, Scope& body) {
  std::vector<PassedOn> passed_on;
  for (std::size_t i = 0; i < std::min(fields.outputs.size(), function.outputs.size()); ++i) {
    if (fields.outputs[i].empty()) continue;
    const ValueId result = caller.define(fields.outputs[i]);
    Scope::Name& inner = body.entry(function.outputs[i]);
    if (inner.is_bound) {
      passed_on.push_back({function.outputs[i], result});
      continue;
    }
    inner.value = result;
    inner.is_bound = true;
    inner.is_graph_output = caller.known(fields.outputs[i])->is_graph_output;
  }
  return passed_on;
}

void add_identities(const std::vector<PassedOn>& passed_on, const Function& function, Scope& body) {
  for (const auto& [name, result] : passed_on) {
    const ValueId value = body.read(name);
    if (!value.is_valid()) {
      fail_bad_input("function '{}' returns its input '{}', which was left out", function.name,
                     name);
    }
    Node identity{.name = "", .op = "Identity", .domain = "", .inputs = {value}};
    identity.outputs = {result};
    body.graph().add_node(std::move(identity));
  }
}

}  // namespace

void GraphReader::inline_call(const NodeFields& fields, const Function& function, Scope& caller) {
  check_call(fields, function);
  if (caller.call() == nullptr) budget_.announce(sizes_.of(function));
  const Level level(*this, described(fields));
  open_calls_.push_back(&function);
  adopt_opsets(function);
  budget_.spend(1, 64 * (function.inputs.size() + function.outputs.size()));
  const FunctionCall call = prepare_call(fields, function, caller);
  const bool is_short = function.name.size() <= kLongestPrefixName;
  Scope body(caller, call, fmt::format("{}_{}/", is_short ? function.name : "function", ++calls_));
  bind_call_inputs(fields, function, caller, body);
  const auto passed_on = bind_call_outputs(fields, function, caller, body);
  for (const auto node : function.nodes) read_node(node, body);
  add_identities(passed_on, function, body);
  open_calls_.pop_back();
}

void GraphReader::check_call(const NodeFields& fields, const Function& function) const {
  if (fields.inputs.size() > function.inputs.size() ||
      fields.outputs.size() > function.outputs.size()) {
    fail_bad_input("{} has {} inputs and {} outputs, its function takes {} and returns {}",
                   described(fields), fields.inputs.size(), fields.outputs.size(),
                   function.inputs.size(), function.outputs.size());
  }
  const auto found = std::ranges::find(open_calls_, &function);
  if (found == open_calls_.end()) return;
  std::vector<std::string> circle;
  for (auto at = found; at != open_calls_.end(); ++at) circle.emplace_back((*at)->name);
  circle.emplace_back(function.name);
  fail_bad_input("function '{}' calls itself: {}", function.name, join(circle, " > "));
}

void GraphReader::adopt_opsets(const Function& function) {
  for (const auto& [domain, version] : function.opsets) {
    if (opsets_.emplace(domain, version).second && domain.empty()) check_standard_opset(version);
  }
}

FunctionCall GraphReader::prepare_call(const NodeFields& fields, const Function& function,
                                       const Scope& caller) const {
  FunctionCall call{.function = &function};
  for (const auto message : fields.attributes) {
    const auto attribute = resolved(message, caller);
    if (attribute) call.attributes[attribute->name] = attribute->message;
  }
  return call;
}

}  // namespace assay::onnx
