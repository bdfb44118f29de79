#include "onnx_io/scope.h"

#include "base/fail.h"
#include "onnx_io/type_reader.h"

namespace assay::onnx {

Scope::Scope(Graph& graph, const Source& source, Scope* around)
    : graph_(graph),
      source_(source),
      around_(around),
      call_(around != nullptr ? around->call_ : nullptr),
      prefix_(around != nullptr ? around->prefix_ : std::string()) {}

Scope::Scope(Scope& caller, const FunctionCall& call, std::string prefix)
    : graph_(caller.graph_), source_(caller.source_), call_(&call), prefix_(std::move(prefix)) {}

const Scope::Name* Scope::known(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &found->second;
}

void Scope::bind(std::string_view name, ValueId value) {
  Name& entry = names_[name];
  entry.value = value;
  entry.is_bound = true;
}

ValueId Scope::read(std::string_view name) {
  if (name.empty()) return {};
  Name& entry = names_[name];
  if (entry.is_bound) return entry.value;
  const auto outer = around_ != nullptr ? around_->find(name) : std::nullopt;
  return outer ? capture(entry, *outer) : add(name, entry);
}

ValueId Scope::define(std::string_view name) {
  Name& entry = names_[name];
  if (!entry.is_bound) return add(name, entry);
  if (!entry.value.is_valid()) {
    fail_bad_input("a function's body defines '{}', which is an input of the function", name);
  }
  return entry.value;
}

std::optional<ValueId> Scope::find(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end() && found->second.is_bound) return found->second.value;
  if (around_ == nullptr) return std::nullopt;
  const auto outer = around_->find(name);
  if (!outer) return std::nullopt;
  return capture(names_[name], *outer);
}

ValueId Scope::add(std::string_view name, Name& entry) {
  ValueType type;
  if (!entry.declared_type.empty()) type = read_type(entry.declared_type, source_);
  std::string full_name;
  full_name.reserve(prefix_.size() + name.size());
  full_name.append(prefix_).append(name);
  entry.value = graph_.add_value(std::move(full_name), std::move(type));
  entry.is_bound = true;
  return entry.value;
}

// The captured value bears the name it has outside, and what is known of its type.
ValueId Scope::capture(Name& entry, ValueId outer) {
  entry.is_bound = true;
  if (!outer.is_valid()) return {};
  const Value& captured = around_->graph_.value(outer);
  entry.value = graph_.add_value(captured.name, captured.type);
  graph_.add_capture({outer, entry.value});
  return entry.value;
}

}  // namespace assay::onnx
