// A float model whose activations have been observed: quantised as a whole, or some layers of it,
// without observing again.
#pragma once

#include "optimize/quantize/observe.h"
#include "transform/quantize/write_qdq.h"

namespace assay::optimize {

// The operator set since which a scale may belong to a channel, and the first with 8-bit numbers.
constexpr std::int64_t kOpsetWithAxes = 13;
constexpr std::int64_t kFirstQuantizedOpset = 10;

struct LayerChoice {
  std::vector<std::string> keep_float = {};  // beyond those of the options
  std::vector<std::string> only = {};        // if not empty, nothing else is quantised
};

class CalibratedModel {
 public:
  CalibratedModel(const Graph& model, const CalibrationData& data, const QuantizeOptions& options,
                  Progress* progress);

  const Graph& float_graph() const { return graph_; }
  QuantizeResult quantized(const LayerChoice& choice) const;

 private:
  void check_opset() const;
  void check_names(const std::vector<std::string>& names) const;
  transform::QuantizationPlan plan_of(const LayerChoice& choice) const;
  void choose_scales(const transform::QuantizationPlan& plan);
  void correct_biases(const transform::QuantizationPlan& plan);
  QuantizedLayer described(const transform::QuantizationPlan& plan,
                           const transform::PlannedLayer& layer,
                           const std::map<NodeId, std::vector<float>>& weight_scales) const;
  ValueId stored_result(const transform::QuantizationPlan& plan, const Node& node) const;
  transform::LinearScale scale_of(const transform::QuantizationPlan& plan, ValueId id) const;
  void describe_activations(const transform::QuantizationPlan& plan, QuantizeResult& result) const;

  QuantizeOptions options_;
  Graph graph_;
  Observations observed_;
  std::vector<transform::LinearScale> scales_;  // by value
  std::map<NodeId, std::vector<double>> corrections_;
  std::vector<std::string> warnings_;
};

}  // namespace assay::optimize
