#include "profile/import/kernel_steps.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace assay::profile {

namespace {

constexpr std::size_t kNoKernel = static_cast<std::size_t>(-1);

std::vector<std::size_t> kernel_of_each_node(const Graph& graph, const RuntimeTrace& trace,
                                             const std::vector<JoinedKernel>& joined) {
  std::vector<std::size_t> kernel_of(graph.node_count(), kNoKernel);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (trace.kernels[i].is_layout_change) continue;
    for (const std::uint32_t node : joined[i].nodes) {
      std::size_t& longest = kernel_of[node];
      const bool is_longer = longest == kNoKernel ||
                             total_run_ms(trace.kernels[i]) > total_run_ms(trace.kernels[longest]);
      if (is_longer) longest = i;
    }
  }
  return kernel_of;
}

std::int64_t value_bytes(const Value& value) {
  if (!value.type.is_tensor() || !value.type.has_known_shape()) return 0;
  const auto elements = value.type.shape->elements();
  return elements ? byte_size(value.type.element, *elements).value_or(0) : 0;
}

class CountedWork {
 public:
  CountedWork(const Graph& graph, const std::vector<ProfileLayer>& layers,
              const std::vector<std::size_t>& kernel_of)
      : graph_(graph), layers_(layers), kernel_of_(kernel_of), readers_(consumers(graph)) {}

  void add_to(StepInfo& step, std::size_t kernel) const {
    for (const NodeId id : step.layers) {
      if (kernel_of_[id.number] != kernel) continue;
      const LayerCost& cost = layers_[id.number].cost;
      step.executed_flops = saturating_add(step.executed_flops, cost.flops);
      step.bytes_read = saturating_add(step.bytes_read, cost.bytes_read);
      step.bytes_written = saturating_add(step.bytes_written, cost.bytes_written);
      step.weight_bytes = saturating_add(step.weight_bytes, cost.parameter_bytes);
      subtract_internal(id, kernel, step);
    }
    step.bytes_read = std::max<std::int64_t>(step.bytes_read, 0);
    step.bytes_written = std::max<std::int64_t>(step.bytes_written, 0);
    step.weight_bytes = std::min(step.weight_bytes, step.bytes_read);
  }

 private:
  // What the node writes and only nodes of the same kernel read. A view moves nothing anyway.
  void subtract_internal(NodeId id, std::size_t kernel, StepInfo& step) const {
    if (layers_[id.number].cost.bytes_written == 0) return;
    for (const ValueId output : graph_.node(id).outputs) {
      if (!output.is_valid()) continue;
      const auto& readers = readers_[output.number];
      const auto is_inside = [&](NodeId reader) { return kernel_of_[reader.number] == kernel; };
      const auto inside = std::ranges::count_if(readers, is_inside);
      const std::int64_t bytes = value_bytes(graph_.value(output));
      const bool is_output = std::ranges::find(graph_.outputs(), output) != graph_.outputs().end();
      step.bytes_read -= bytes * static_cast<std::int64_t>(inside);
      if (!is_output && inside > 0 && inside == std::ssize(readers)) step.bytes_written -= bytes;
    }
  }

  const Graph& graph_;
  const std::vector<ProfileLayer>& layers_;
  const std::vector<std::size_t>& kernel_of_;
  std::vector<std::vector<NodeId>> readers_;
};

std::uint32_t most_work(const std::vector<std::uint32_t>& nodes,
                        const std::vector<ProfileLayer>& layers) {
  return *std::ranges::max_element(nodes, {},
                                   [&](std::uint32_t node) { return layers[node].cost.flops; });
}

// What a change of layout moves: it reads and writes one tensor.
void set_moved_bytes(const RuntimeKernel& kernel, StepInfo& step) {
  if (!kernel.output_dims) return;
  const auto elements = Shape(*kernel.output_dims).elements();
  if (!elements) return;
  step.bytes_read = byte_size(DataType::Float32, *elements).value_or(0);
  step.bytes_written = step.bytes_read;
}

std::string kernel_precision(const RuntimeKernel& kernel, const Graph& graph,
                             const JoinedKernel& joined) {
  if (!kernel.precision.empty()) return kernel.precision;
  if (joined.nodes.empty()) return "fp32";
  const Node& node = graph.node(NodeId{joined.nodes.front()});
  if (!node.has_output(0)) return "fp32";
  switch (graph.value(node.outputs[0]).type.element) {
    case DataType::Float16:
      return "fp16";
    case DataType::BFloat16:
      return "bf16";
    case DataType::Int8:
    case DataType::UInt8:
      return "int8";
    default:
      return "fp32";
  }
}

}  // namespace

double total_run_ms(const RuntimeKernel& kernel) {
  return std::accumulate(kernel.run_ms.begin(), kernel.run_ms.end(), 0.0);
}

std::vector<StepInfo> kernel_steps(const Graph& graph, const std::vector<ProfileLayer>& layers,
                                   const RuntimeTrace& trace,
                                   const std::vector<JoinedKernel>& joined) {
  const auto kernel_of = kernel_of_each_node(graph, trace, joined);
  const CountedWork work(graph, layers, kernel_of);
  std::vector<StepInfo> steps;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    const RuntimeKernel& kernel = trace.kernels[i];
    StepInfo step{.name = kernel.name,
                  .op = kernel.is_layout_change ? "Reorder" : kernel.op,
                  .algorithm = kernel.algorithm,
                  .precision = kernel_precision(kernel, graph, joined[i]),
                  .device = kernel.device};
    for (const std::uint32_t node : joined[i].nodes) step.layers.push_back(NodeId{node});
    if (step.op.empty() && !joined[i].nodes.empty()) {
      step.op = layers[most_work(joined[i].nodes, layers)].cost.op;
    }
    if (kernel.is_layout_change) {
      set_moved_bytes(kernel, step);
    } else {
      work.add_to(step, i);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace assay::profile
