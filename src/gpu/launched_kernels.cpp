#include "gpu/launched_kernels.h"

#include <algorithm>

namespace assay::gpu {

namespace {

// Of CUgraphNodeType.
constexpr int kKernelNode = 0;
constexpr int kGraphNode = 4;

class NameCollector {
 public:
  explicit NameCollector(const GraphFunctions& functions) : functions_(functions) {}

  void visit_graph(Handle graph) {
    std::size_t count = 0;
    if (functions_.graph_nodes(graph, nullptr, &count) != 0 || count == 0) return;
    std::vector<Handle> nodes(count);
    if (functions_.graph_nodes(graph, nodes.data(), &count) != 0) return;
    nodes.resize(std::min(nodes.size(), count));
    for (const Handle node : nodes) visit_node(node);
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  void visit_node(Handle node) {
    int type = -1;
    if (functions_.node_type(node, &type) != 0) return;
    if (type == kKernelNode) add_kernel(node);
    Handle child = nullptr;
    if (type == kGraphNode && functions_.child_graph(node, &child) == 0) visit_graph(child);
  }

  void add_kernel(Handle node) {
    KernelNode kernel;
    if (functions_.kernel_node(node, &kernel) != 0) return;
    const char* name = nullptr;
    const Status status = kernel.function != nullptr
                              ? functions_.function_name(&name, kernel.function)
                              : functions_.kernel_name(&name, kernel.kernel);
    if (status != 0 || name == nullptr) return;
    if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
  }

  const GraphFunctions& functions_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> launched_kernels(const Stream& stream,
                                          const std::function<void(const Stream&)>& work) {
  const GraphFunctions& functions = stream.device().driver().graphs;
  if (functions.graph_nodes == nullptr) return {};
  stream.begin_capture();
  try {
    work(stream);
  } catch (...) {
    stream.give_up_capture();
    throw;
  }
  const Owned graph = stream.end_capture_as_graph();
  NameCollector names(functions);
  names.visit_graph(graph.get());
  return names.take();
}

}  // namespace assay::gpu
