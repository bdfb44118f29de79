// Everything that can be said of a model without running it, in one call.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/cost.h"
#include "assay/memory.h"

namespace assay {

struct CountOptions {
  Bindings bindings = {};
  std::map<std::string, Tensor> input_values = {};  // inputs whose content is known
  std::optional<DataType> stored_as = {};
};

struct ModelSummary {
  std::string name;
  std::int64_t opset = 0;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::optional<std::string> sha256 = {};
};

struct MemorySummary {
  std::int64_t stored_bytes = 0;           // every stored tensor: parameters, statistics, constants
  std::int64_t peak_activation_bytes = 0;  // the planned arena
  std::int64_t lower_bound_bytes = 0;      // the most that is alive at once
  std::int64_t computed_weight_bytes = 0;  // made from constants alone, so not in the arena
  std::vector<std::int64_t> live_bytes;    // by step
  std::vector<std::string> steps;          // the nodes' names
  std::vector<std::string> unplanned;      // tensors whose size is not known
};

struct CountResult {
  ModelSummary model;
  std::optional<DataType> stored_as = {};
  CostSheet cost;
  MemorySummary memory;
  std::vector<std::string> warnings;
};

CountResult count_model(Graph graph, std::string name, const CountOptions& options = {});

}  // namespace assay
