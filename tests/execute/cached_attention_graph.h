// Attention over a cache that is state: [2, 3, tokens, width] after rows of [2, 3, capacity,
// width].
#pragma once

#include "assay/builder.h"

namespace assay {

struct CachedAttentionForm {
  std::int64_t tokens = 1;
  std::int64_t capacity = 9;
  std::int64_t width = 20;
};

// Inputs: query, key, value and position; state: keys and values.
inline Graph cached_attention_graph(const CachedAttentionForm& form) {
  GraphBuilder builder("attention");
  const Shape rows{2, 3, form.tokens, form.width};
  const Shape cache{2, 3, form.capacity, form.width};
  std::vector<ValueId> inputs;
  for (const char* name : {"query", "key", "value"})
    inputs.push_back(builder.input(name, DataType::Float32, rows));
  for (const char* name : {"keys", "values"})
    inputs.push_back(builder.input(name, DataType::Float32, cache));
  inputs.push_back(builder.input("position", DataType::Int64, Shape{1}));
  const auto outputs =
      builder.node_with_outputs("CachedAttention", "attention", inputs, 3, {{"scale", 0.25f}});
  builder.output(outputs[0], "result");
  builder.output(outputs[1], "new_keys");
  builder.output(outputs[2], "new_values");
  Graph graph = builder.finish();
  graph.node(NodeId{0}).domain = std::string(kOwnDomain);
  graph.opsets[std::string(kOwnDomain)] = 1;
  graph.carry({inputs[3], outputs[1]});
  graph.carry({inputs[4], outputs[2]});
  return graph;
}

}  // namespace assay
