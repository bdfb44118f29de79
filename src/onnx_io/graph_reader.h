// GraphProto to Graph: names become values, Constant nodes initializers, subgraphs graphs of their
// own, and calls of model-local functions the nodes of their bodies.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph.h"
#include "onnx_io/expanded_size.h"
#include "onnx_io/external_data.h"
#include "onnx_io/functions.h"
#include "onnx_io/node_fields.h"
#include "onnx_io/scope.h"
#include "onnx_io/wire.h"

namespace assay::onnx {

// An object borrowed from a pool and returned at the end, so that the next node reuses its
// capacity.
template <typename T>
class Borrowed {
 public:
  explicit Borrowed(std::vector<std::unique_ptr<T>>& pool) : pool_(pool) {
    if (pool_.empty()) pool_.push_back(std::make_unique<T>());
    object_ = std::move(pool_.back());
    pool_.pop_back();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() { pool_.push_back(std::move(object_)); }
  T& get() const { return *object_; }

 private:
  std::vector<std::unique_ptr<T>>& pool_;
  std::unique_ptr<T> object_ = nullptr;
};

class GraphReader {
 public:
  // What inlined functions import is added to `opsets`.
  GraphReader(const Source& source, ExternalFiles& external, const FunctionTable& functions,
              std::map<std::string, std::int64_t>& opsets)
      : source_(source),
        external_(external),
        functions_(functions),
        opsets_(opsets),
        sizes_(functions, source) {}

  Graph read(std::string_view graph_message);

 private:
  friend class Level;

  void read_graph(std::string_view message, Graph& graph, Scope* around);
  void read_inputs(const GraphFields& fields, Scope& scope);
  void read_initializers(const GraphFields& fields, Scope& scope);
  void read_outputs(const std::vector<ValueInfoFields>& outputs, Scope& scope);

  void read_node(std::string_view message, Scope& scope);
  void read_operator(const NodeFields& fields, Scope& scope, std::size_t message_size);
  void read_attributes(const NodeFields& fields, Scope& scope, Node& node);
  void check_form(const NodeFields& fields, const Node& node) const;
  std::optional<AttributeFields> resolved(std::string_view message, const Scope& scope) const;
  AttributeValue read_subgraphs(const AttributeFields& attribute, Scope& scope);
  GraphPtr read_subgraph(std::string_view message, Scope& scope);

  void check_operator_set(const NodeFields& fields, const Scope& scope) const;
  void inline_call(const NodeFields& fields, const Function& function, Scope& caller);
  void check_call(const NodeFields& fields, const Function& function) const;
  void adopt_opsets(const Function& function);
  FunctionCall prepare_call(const NodeFields& fields, const Function& function,
                            const Scope& caller) const;
  std::string path() const;

  const Source& source_;
  ExternalFiles& external_;
  const FunctionTable& functions_;
  std::map<std::string, std::int64_t>& opsets_;
  ExpandedSizes sizes_;
  InliningBudget budget_ = {};
  std::vector<std::string> levels_ = {};          // subgraphs and functions around the place read
  std::vector<const Function*> open_calls_ = {};  // the functions among them
  std::vector<std::unique_ptr<NodeFields>> fields_pool_ = {};
  std::size_t subgraphs_ = 0;
  std::size_t calls_ = 0;
};

// One level deeper, into a subgraph or a function; throws beyond the limit.
class Level {
 public:
  Level(GraphReader& reader, std::string label);
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() { levels_.pop_back(); }

 private:
  std::vector<std::string>& levels_;
};

std::string described(const NodeFields& node);  // "Conv 'layer3/conv1'"

// Throws an Error that says what to try unless the version is one assay knows.
void check_standard_opset(std::int64_t version);

}  // namespace assay::onnx
