// Statistics of batch norms, computed again on data.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/as_size.h"
#include "base/fail.h"
#include "optimize/prune/batches.h"

namespace assay {

using namespace assay::optimize;

namespace {

// Sums over batches of a norm's mean and variance, and of the squared means.
struct NormSums {
  NodeId node;
  std::vector<double> mean = {};
  std::vector<double> square = {};
  std::vector<double> variance = {};

  void add(const std::vector<double>& means, const std::vector<double>& variances) {
    for (auto* sums : {&mean, &square, &variance}) sums->resize(means.size(), 0.0);
    for (std::size_t i = 0; i < means.size(); ++i) {
      mean[i] += means[i];
      square[i] += means[i] * means[i];
      variance[i] += variances[i];
    }
  }
};

bool can_be_recalibrated(const Graph& model, const Node& node) {
  if (!node.is("BatchNormalization") || node.inputs.size() != 5) return false;
  const auto is_float_constant = [&](ValueId id) {
    const Tensor* stored = model.initializer(id);
    return stored != nullptr && stored->type() == DataType::Float32;
  };
  return is_float_constant(node.inputs[3]) && is_float_constant(node.inputs[4]);
}

// Norms use the statistics of their batch, which are the only outputs of the model.
class StatisticsModel {
 public:
  explicit StatisticsModel(const Graph& model) : old_(model) {
    graph_.name = model.name;
    graph_.opsets = model.opsets;
    if (graph_.opsets[""] < 9)
      fail_bad_input("batch norms of opset {} cannot be recalibrated: write the model anew",
                     graph_.opsets[""]);
    for (const Value& value : model.values()) graph_.add_value(value.name, value.type);
    for (const ValueId input : model.inputs()) graph_.add_input(input);
    for (const auto& [value, tensor] : model.initializers()) graph_.add_initializer(value, tensor);
    for (std::uint32_t i = 0; i < model.node_count(); ++i) add(NodeId{i});
  }

  const Graph& graph() const { return graph_; }
  std::vector<NormSums>& norms() { return norms_; }

 private:
  void add(NodeId id) {
    Node node = old_.node(id);
    if (can_be_recalibrated(old_, node)) {
      norms_.push_back({id});
      const std::string name = old_.display_name(id);
      // Before opset 14 a norm is in training mode if it has all five outputs.
      const bool is_old = graph_.opset() < 14;
      node.outputs.resize(1);
      for (const char* what : {"#mean", "#variance", "#saved_mean", "#saved_variance"}) {
        if (node.outputs.size() < (is_old ? 5u : 3u))
          node.outputs.push_back(graph_.add_value(name + what));
      }
      if (!is_old) node.set("training_mode", std::int64_t{1});
      node.set("momentum", 0.0f);
      graph_.add_output(node.outputs[1]);
      graph_.add_output(node.outputs[2]);
    }
    graph_.add_node(std::move(node));
  }

  const Graph& old_;
  Graph graph_;
  std::vector<NormSums> norms_;
};

Tensor as_floats(const std::vector<double>& numbers) {
  std::vector<float> floats;
  for (const double number : numbers) floats.push_back(static_cast<float>(number));
  return Tensor::of_float({static_cast<std::int64_t>(floats.size())}, floats);
}

// Of all batches together: the mean of variances and the variance of means.
std::pair<Tensor, Tensor> statistics_of(const NormSums& sums, std::size_t batches) {
  const auto count = static_cast<double>(batches);
  std::vector<double> mean, variance;
  for (std::size_t i = 0; i < sums.mean.size(); ++i) {
    mean.push_back(sums.mean[i] / count);
    const double of_means = sums.square[i] / count - mean.back() * mean.back();
    variance.push_back(sums.variance[i] / count + std::max(of_means, 0.0));
  }
  return {as_floats(mean), as_floats(variance)};
}

Graph with_tensors(const Graph& model, const std::map<ValueId, Tensor>& changed) {
  Graph made = model.declarations();
  for (const auto& [value, tensor] : model.initializers()) {
    const auto found = changed.find(value);
    made.add_initializer(value, found == changed.end() ? tensor : found->second);
  }
  for (const Node& node : model.nodes()) made.add_node(node);
  return made;
}

}  // namespace

RecalibratedModel recalibrate_batch_norms(const Graph& model, std::span<const InputBatch> batches,
                                          const ProgramOptions& options, Progress* progress) {
  bindings_of(model, batches);  // refuses batches that do not fit
  StatisticsModel statistics(model);
  if (statistics.norms().empty()) return {model, {}};
  run_batches(statistics.graph(), batches, {options, progress, "recalibrating batch norms"},
              [&](const std::vector<Tensor>& results) {
                for (std::size_t i = 0; i < statistics.norms().size(); ++i)
                  statistics.norms()[i].add(results[2 * i].to_double(),
                                            results[2 * i + 1].to_double());
              });
  std::map<ValueId, Tensor> changed;
  RecalibratedModel result;
  for (const NormSums& sums : statistics.norms()) {
    const Node& node = model.node(sums.node);
    std::tie(changed[node.inputs[3]], changed[node.inputs[4]]) =
        statistics_of(sums, batches.size());
    result.norms.push_back(model.display_name(sums.node));
  }
  result.graph = with_tensors(model, changed);
  return result;
}

}  // namespace assay
