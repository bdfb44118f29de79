// Attention over a cache that is state: [2, 3, tokens, width] after rows of [2, 3, capacity,
// width].
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/builder.h"
#include "assay/program.h"
#include "execute/compare_engines.h"

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

// Runs of it at any position, from the same random state.
class CachedAttentionRuns {
 public:
  CachedAttentionRuns(const CachedAttentionForm& form, const std::string& engine,
                      std::optional<DataType> precision = {})
      : program_(compile(infer_shapes(cached_attention_graph(form)),
                         {.engine = engine, .precision = precision})) {
    program_->set_state(random_inputs(program_->state(), 1));
  }

  std::vector<Tensor> at(std::int64_t position) {
    auto inputs = random_inputs(program_->inputs(), static_cast<std::uint64_t>(position));
    inputs.back() = Tensor::of_int64({1}, {position});
    program_->set_inputs(inputs);
    program_->run();
    return program_->results();
  }

  Program& program() { return *program_; }

 private:
  std::unique_ptr<Program> program_;
};

}  // namespace assay
