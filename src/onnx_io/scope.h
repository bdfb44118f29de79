// What names refer to at one point of a model: in the main graph, a subgraph, or a function being
// inlined.
//
// A subgraph sees the names around it: using one adds a capture at every level in between. A
// function sees only its parameters; its values join the caller's graph under a prefix. Keys are
// views into the file.
#pragma once

#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "assay/graph.h"
#include "onnx_io/wire.h"

namespace assay::onnx {

struct FunctionCall;

class Scope {
 public:
  struct Name {
    ValueId value = {};  // invalid while unbound, or for an optional parameter left out
    bool is_bound = false;
    bool is_graph_output = false;
    std::string_view declared_type = {};  // a TypeProto
  };

  // The scope of a whole graph; `around` is null for the main graph.
  Scope(Graph& graph, const Source& source, Scope* around);
  // The scope of a function's body, inlined into the caller's graph.
  Scope(Scope& caller, const FunctionCall& call, std::string prefix);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  Graph& graph() const { return graph_; }
  const FunctionCall* call() const { return call_; }  // the innermost function being inlined
  const std::string& prefix() const { return prefix_; }
  void reserve(std::size_t names) { names_.reserve(names); }

  Name& entry(std::string_view name) { return names_[name]; }
  const Name* known(std::string_view name) const;
  void bind(std::string_view name, ValueId value);

  // The value a node reads; an empty name is an optional input left out. A name that is not defined
  // yet becomes a value too, which the verifier checks.
  ValueId read(std::string_view name);
  // The value a node, input or initializer defines.
  ValueId define(std::string_view name);

 private:
  std::optional<ValueId> find(std::string_view name);
  ValueId add(std::string_view name, Name& entry);
  ValueId capture(Name& entry, ValueId outer);

  Graph& graph_;
  const Source& source_;
  Scope* around_ = nullptr;  // where names of a subgraph are looked up next
  const FunctionCall* call_ = nullptr;
  std::string prefix_ = {};
  std::pmr::monotonic_buffer_resource pool_ = {};  // names are only ever added
  std::pmr::unordered_map<std::string_view, Name> names_{&pool_};
};

}  // namespace assay::onnx
