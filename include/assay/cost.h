// What a graph costs, node by node: parameters, MACs, FLOPs, bytes.
//
// One fused multiply-add is 1 MAC and 2 FLOPs. Nominal MACs are the figure usually published;
// effective MACs leave out the positions that only multiply padding. docs/conventions.md states the
// cost of every op. Layers always sum to the totals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/infer.h"

namespace assay {

// Counted, free and unknown are three answers: a view costs nothing; the cost of an op without a
// rule is unknown, not 0.
enum class Answer { Counted, Free, Unknown };
std::string_view name(Answer answer);

struct LayerCost {
  std::string name;
  std::string op;
  NodeId node = {};  // of the root graph; in a body, the node that holds it; none for "(unused)"
  // Of a convolution its kernel and stride: "1x1", "7x7/2", "depthwise 3x3", "grouped 3x3".
  std::string form = "";
  std::optional<Shape> output_shape = {};
  Answer answer = Answer::Free;
  std::string note = "";     // why it is unknown, free or not run
  std::int64_t repeats = 1;  // how often it runs: more than once inside a loop
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t effective_macs = 0;
  std::int64_t bias_flops = 0;   // one for each output element that a bias is added to
  std::int64_t other_flops = 0;  // everything that is neither a MAC nor a bias
  std::int64_t flops = 0;        // 2·macs + bias_flops + other_flops
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t activation_bytes = 0;  // of the outputs; 0 for a view
};

struct CostTotals {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t effective_macs = 0;
  std::int64_t bias_flops = 0;
  std::int64_t other_flops = 0;
  std::int64_t flops = 0;
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t statistics = 0;  // elements of batch norms' running mean and variance
  std::int64_t statistics_bytes = 0;
  std::int64_t constants = 0;  // elements of integer, boolean, one-element tensors, scales, masks
  std::int64_t constants_bytes = 0;
};

struct UncountedOp {
  std::string op;
  std::string node;
  std::string reason;
};

struct CostSheet {
  std::vector<LayerCost> layers;  // in execution order, nodes of subgraphs among them
  CostTotals totals;
  std::vector<UncountedOp> uncounted;
  std::vector<std::string> warnings;
};

struct CostOptions {
  // Counts floating tensors, weights and activations, as if stored with this type.
  std::optional<DataType> stored_as = {};
};

CostSheet count_costs(const Inferred& model, const CostOptions& options = {});

// The parameters among the model's stored tensors that training can change: the floating ones.
std::vector<ValueId> trainable_parameters(const Inferred& model);

}  // namespace assay
