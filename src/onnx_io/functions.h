// The model-local functions of a file, found by domain, name and overload, and the limits on
// inlining them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx_io/wire.h"

namespace assay::onnx {

struct NodeFields;

// A FunctionProto taken apart; everything is a view into the file.
struct Function {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> nodes;
  std::unordered_map<std::string_view, std::string_view> defaults;  // attribute to AttributeProto
  std::map<std::string, std::int64_t> opsets;
};

// One use of a function: the attributes given there, already free of references.
struct FunctionCall {
  const Function* function = nullptr;
  std::unordered_map<std::string_view, std::string_view> attributes = {};

  // The AttributeProto a reference stands for: given, else the default, else empty.
  std::string_view attribute(std::string_view name) const;
};

class FunctionTable {
 public:
  void add(std::string_view message, const Source& source);
  bool is_empty() const { return functions_.empty(); }
  const std::vector<Function>& functions() const { return functions_; }
  // The function that the node calls, or null if it is an ordinary operator.
  const Function* find(const NodeFields& node) const;

 private:
  std::vector<Function> functions_ = {};
  std::map<std::string, std::size_t, std::less<>> index_ = {};
};

// Functions that call functions can double the nodes at every level; a file of a kilobyte must not
// become a graph of a billion nodes.
class InliningBudget {
 public:
  static constexpr std::size_t kMostNodes = 1'000'000;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of nodes, weights aside

  void announce(std::size_t nodes);  // throws if so many more would exceed a limit
  void spend(std::size_t nodes, std::size_t bytes);

 private:
  std::size_t announced_ = 0;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

// "ai.onnx" is another name for the standard domain, "".
std::string_view normalised_domain(std::string_view domain);
// Adds an OperatorSetIdProto.
void read_opset(std::string_view message, const Source& source,
                std::map<std::string, std::int64_t>& opsets);

}  // namespace assay::onnx
