// NodeProto, GraphProto and AttributeProto taken apart into views of their fields.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx_io/schema.h"
#include "onnx_io/wire.h"

namespace assay::onnx {

struct NodeFields {
  std::string_view name = {};
  std::string_view op = {};
  std::string_view domain = {};  // normalised
  std::string_view overload = {};
  std::vector<std::string_view> inputs = {};
  std::vector<std::string_view> outputs = {};
  std::vector<std::string_view> attributes = {};

  // The name people know the node by.
  std::string_view display_name() const;
  void clear();
};
// Fills `node`, whose lists keep their capacity from the previous node.
void read_node_fields(std::string_view message, const Source& source, NodeFields& node);

struct GraphFields {
  std::string_view name = {};
  std::string_view doc = {};
  std::vector<std::string_view> nodes = {};
  std::vector<std::string_view> initializers = {};
  std::vector<std::string_view> inputs = {};
  std::vector<std::string_view> outputs = {};
  std::vector<std::string_view> value_infos = {};
};
GraphFields read_graph_fields(std::string_view message, const Source& source);

struct ValueInfoFields {
  std::string_view name = {};
  std::string_view type = {};  // a TypeProto, empty if none is declared
};
ValueInfoFields read_value_info(std::string_view message, const Source& source);

// The single-valued fields; lists are read by parsing `message` again.
struct AttributeFields {
  std::string_view message = {};
  std::string_view name = {};
  std::string_view reference = {};  // the function attribute it stands for
  AttributeKind kind = AttributeKind::Undefined;
  std::uint32_t present = 0;  // bit n: a field that belongs to AttributeKind n
  std::int64_t integer = 0;
  float real = 0;
  std::string_view bytes = {};
  std::string_view tensor = {};
  std::string_view graph = {};
  std::string_view type = {};

  bool has(AttributeKind wanted) const { return (present >> static_cast<int>(wanted) & 1) != 0; }
};
// Also determines the kind where an old file does not state it.
AttributeFields read_attribute_fields(std::string_view message, const Source& source);

}  // namespace assay::onnx
