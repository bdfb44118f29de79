// A model made ready to be counted or compiled: bound, inferred, counted and planned.
#pragma once

#include "assay/count.h"

namespace assay::profile {

struct Prepared {
  ModelSummary model;
  std::int64_t batch = 1;  // samples in one run
  Inferred inferred;
  CostSheet cost;
  MemoryPlan plan;
  std::int64_t stored_bytes = 0;               // parameters, statistics and constants
  std::map<std::string, Tensor> full_lengths;  // inputs that say how long sequences are
  std::vector<std::string> warnings;
};

// The planned arena, by names.
struct NamedPlan {
  std::vector<std::string> steps;  // the nodes' names
  std::vector<NamedBuffer> buffers;
};
NamedPlan named_plan(const Prepared& prepared);

// Throws an Error for a value whose name no input has, or whose type is not the input's.
Prepared prepare_model(Graph graph, std::string name, const CountOptions& options);

void check_input_values(const Graph& graph, const std::map<std::string, Tensor>& values);

}  // namespace assay::profile
