// How active each channel is on data: the mean magnitude of its activations.
#include "optimize/prune/batches.h"

namespace assay {

using namespace assay::optimize;

namespace {

// |value|, averaged over all axes but one.
ValueId add_mean_magnitude(Graph& graph, ValueId value, std::size_t axis, std::size_t rank) {
  const std::string name = graph.value(value).name;
  const ValueId magnitude = graph.add_value(name + "#magnitude");
  const ValueId mean = graph.add_value(name + "#activity");
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) others.push_back(static_cast<std::int64_t>(i));
  }
  graph.add_node(
      {.name = "", .op = "Abs", .domain = "", .inputs = {value}, .outputs = {magnitude}});
  Node node{.name = "", .op = "ReduceMean", .domain = "", .inputs = {magnitude}, .outputs = {mean}};
  node.set("keepdims", std::int64_t{0});
  if (graph.opset() < 18) {
    node.set("axes", others);
  } else {
    const auto count = static_cast<std::int64_t>(others.size());
    const ValueId axes =
        graph.add_value(name + "#axes", tensor_type(DataType::Int64, Shape{count}));
    graph.add_initializer(axes, Tensor::of_int64({count}, others));
    node.inputs.push_back(axes);
  }
  graph.add_node(std::move(node));
  return mean;
}

// The same model with no outputs yet.
Graph without_outputs(const Graph& model) {
  Graph made;
  made.name = model.name;
  made.opsets = model.opsets;
  for (const Value& value : model.values()) made.add_value(value.name, value.type);
  for (const ValueId input : model.inputs()) made.add_input(input);
  for (const auto& [value, tensor] : model.initializers()) made.add_initializer(value, tensor);
  for (const Node& node : model.nodes()) made.add_node(node);
  return made;
}

}  // namespace

ChannelActivity measure_activity(const Graph& model, std::span<const InputBatch> batches,
                                 const ProgramOptions& options, Progress* progress) {
  const Bindings bindings = bindings_of(model, batches);
  const auto observed = values_to_observe(model, bindings);
  Graph graph = without_outputs(model);
  for (const ObservedValue& one : observed)
    graph.add_output(add_mean_magnitude(graph, *model.find_value(one.name), one.axis, one.rank));
  ChannelActivity activity;
  if (observed.empty()) return activity;
  run_batches(graph, batches, {options, progress, "observing activations"},
              [&](const std::vector<Tensor>& means) {
                for (std::size_t i = 0; i < means.size(); ++i) {
                  const auto numbers = means[i].to_double();
                  auto& sum = activity[observed[i].name];
                  sum.resize(numbers.size(), 0.0);
                  for (std::size_t c = 0; c < numbers.size(); ++c)
                    sum[c] += numbers[c] / static_cast<double>(batches.size());
                }
              });
  return activity;
}

}  // namespace assay
