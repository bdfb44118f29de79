// What random networks of 8-bit numbers are judged by.
//
// A difference of one step in an early layer would grow on its way through later ones. So the
// oracle, the reference kernels node by node, goes on from what the fast engine computed wherever
// that is an output: every layer is judged by itself. Values in between, which the engine may keep
// to itself where it fuses layers, allow one more step each.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/graph.h"
#include "kernels/kernel.h"

namespace assay {

struct Tally {
  std::int64_t numbers = 0;
  std::int64_t different = 0;
  std::int64_t tensors = 0;
  std::int64_t varied_tensors = 0;  // with at least four different numbers
};

inline bool rounds(const Node& node) {
  return node.op.starts_with("QLinear") || node.op == "QGemm" || node.op == "QuantizeLinear" ||
         node.op == "DynamicQuantizeLinear";
}

// Evaluates a graph node by node and compares values that are outputs with those of an engine.
class Oracle {
 public:
  Oracle(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Tensor>& results)
      : graph_(graph), values_(graph.value_count()), hidden_(graph.value_count()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[graph.inputs()[i].number] = inputs[i];
    for (const auto& [id, tensor] : graph.initializers()) values_[id.number] = tensor;
    for (std::size_t i = 0; i < results.size(); ++i)
      results_[graph.outputs()[i].number] = results[i];
  }

  // What is wrong, or nothing.
  std::string check(Tally& tally) {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node(NodeId{i});
      evaluate(node);
      for (const ValueId id : node.outputs) {
        const auto result = results_.find(id.number);
        if (result == results_.end()) continue;
        const std::string wrong =
            compare(values_[id.number], result->second, hidden_[id.number], tally);
        if (!wrong.empty()) return node.op + " '" + node.name + "': " + wrong;
        values_[id.number] = result->second;
        hidden_[id.number] = 0;
      }
    }
    return "";
  }

 private:
  void evaluate(const Node& node) {
    std::vector<Tensor> inputs;
    int hidden = rounds(node) ? 1 : 0;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id.is_valid() ? values_[id.number] : Tensor());
      if (id.is_valid()) hidden = std::max(hidden, hidden_[id.number] + (rounds(node) ? 1 : 0));
    }
    const auto outputs = kernels::evaluate(node, inputs, graph_.opset(node.domain));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].is_valid()) continue;
      values_[node.outputs[i].number] = outputs[i];
      hidden_[node.outputs[i].number] = hidden;
    }
  }

  static std::string compare(const Tensor& expected, const Tensor& given, int steps, Tally& tally) {
    if (expected.type() != given.type() || expected.dims() != given.dims()) return "other shape";
    const auto wanted = expected.to_double();
    const auto got = given.to_double();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == got[i]) continue;
      ++tally.different;
      if (std::abs(wanted[i] - got[i]) > std::max(steps, 1)) {
        return "number " + std::to_string(i) + " is " + std::to_string(got[i]) + ", expected " +
               std::to_string(wanted[i]) + " within " + std::to_string(std::max(steps, 1));
      }
    }
    tally.numbers += static_cast<std::int64_t>(wanted.size());
    tally.tensors += 1;
    tally.varied_tensors += std::set(wanted.begin(), wanted.end()).size() >= 4 ? 1 : 0;
    return "";
  }

  const Graph& graph_;
  std::vector<Tensor> values_;
  std::vector<int> hidden_;  // roundings since the last value that the engine showed
  std::map<std::uint32_t, Tensor> results_;
};

}  // namespace assay
