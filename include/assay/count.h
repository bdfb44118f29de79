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

// Node `to` reads what node `from` writes; both are positions in the root graph.
struct ModelEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// A block of the arena, by the first tensor that lives in it, in use from the first step that
// accesses it to the last. Without a name it is the workspace of an algorithm or of a node's body.
struct NamedBuffer {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;
};

struct ModelSummary {
  std::string name;
  std::int64_t opset = 0;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::optional<std::string> sha256 = {};
  std::vector<ModelEdge> edges = {};  // by reader, in execution order
};

// What reports show about a model without bound shapes.
ModelSummary model_summary(const Graph& model, const std::string& name);

struct MemorySummary {
  std::int64_t stored_bytes = 0;           // every stored tensor: parameters, statistics, constants
  std::int64_t peak_activation_bytes = 0;  // the planned arena
  std::int64_t lower_bound_bytes = 0;      // the most that is alive at once
  std::int64_t computed_weight_bytes = 0;  // made from constants alone, so not in the arena
  std::vector<std::int64_t> live_bytes;    // by step
  std::vector<std::string> steps;          // the nodes' names
  std::vector<NamedBuffer> buffers;        // of the planned arena; a step is a node
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
