#include "execute/precision.h"

#include <optional>

namespace assay::execute {

std::string precision_name(DataType type) {
  switch (type) {
    case DataType::Float32:
      return "fp32";
    case DataType::Float16:
      return "fp16";
    case DataType::BFloat16:
      return "bf16";
    case DataType::Float64:
      return "fp64";
    case DataType::Int8:
    case DataType::UInt8:
      return "int8";
    default:
      return std::string(name(type));
  }
}

std::string precision_of(const Graph& graph, const Node& node) {
  std::optional<DataType> first;
  for (const auto* ids : {&node.outputs, &node.inputs}) {
    for (const ValueId id : *ids) {
      if (!id.is_valid() || !graph.value(id).type.is_tensor()) continue;
      const DataType type = graph.value(id).type.element;
      if (is_floating(type)) return precision_name(type);
      if (!first) first = type;
    }
  }
  return first ? precision_name(*first) : "";
}

}  // namespace assay::execute
