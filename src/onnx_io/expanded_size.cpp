#include "onnx_io/expanded_size.h"

#include <algorithm>

#include "onnx_io/node_fields.h"

namespace assay::onnx {

namespace {

constexpr int kDeepestCounted = 100;

std::size_t capped(std::size_t count) {
  return std::min(count, InliningBudget::kMostNodes + 1);
}

}  // namespace

std::size_t ExpandedSizes::size_of(const Function& function, int depth) {
  std::size_t& size = sizes_[static_cast<std::size_t>(&function - functions_.functions().data())];
  if (size == kBeingCounted) return 1;
  if (size == kUnknown) {
    size = kBeingCounted;
    size = 1 + count(function.nodes, depth + 1);
  }
  return size;
}

std::size_t ExpandedSizes::count(std::span<const std::string_view> nodes, int depth) {
  if (depth > kDeepestCounted) return 0;
  std::size_t total = 0;
  for (const auto node : nodes) total = capped(total + count_node(node, depth));
  return total;
}

std::size_t ExpandedSizes::count_node(std::string_view node, int depth) {
  NodeFields fields;
  read_node_fields(node, source_, fields);
  std::size_t total = 1;
  if (const Function* called = functions_.find(fields)) {
    total = capped(total + size_of(*called, depth));
  }
  for (const auto message : fields.attributes) {
    for (FieldReader field(message, source_, "an attribute"); field.next();) {
      const bool is_graph =
          field.number() == attribute_field::kGraph || field.number() == attribute_field::kGraphs;
      if (!is_graph) continue;
      const GraphFields graph = read_graph_fields(field.bytes(), source_);
      total = capped(total + count(graph.nodes, depth + 1));
    }
  }
  return total;
}

}  // namespace assay::onnx
