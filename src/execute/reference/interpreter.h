// Runs graphs node by node with the plain kernels, and one node for engines that cannot.
//
// Nothing needs to be known ahead: shapes may depend on data, values may be sequences or optionals,
// bodies of If, Loop, Scan and SequenceMap run as often as the data says. What cannot run is
// refused on construction. A graph must outlive what interprets it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/graph.h"
#include "execute/reference/live_bytes.h"
#include "execute/reference/runtime_value.h"
#include "execute/reference/value_ops.h"
#include "kernels/kernel.h"

namespace assay::reference {

class Interpreter;

// What surrounds a graph or node that runs: values of the graph around it, by their id there. The
// reference must stay good while the node runs.
using ValueLookup = std::function<const RuntimeValue&(ValueId)>;

// The context of a graph: bodies use the operator sets of the model; `depth` is limited.
struct InterpreterContext {
  std::map<std::string, std::int64_t> opsets;
  int depth = 0;
};

// One node made ready to run any number of times, its bodies with it.
class NodeEvaluator {
 public:
  NodeEvaluator(const Graph& graph, NodeId node);
  NodeEvaluator(const Graph& graph, NodeId node, const InterpreterContext& context);
  NodeEvaluator(NodeEvaluator&&) noexcept;
  ~NodeEvaluator();

  // `inputs` are the node's, nothing for those left out; `around` finds what its bodies capture.
  // Gives one value for each output of the node.
  std::vector<RuntimeValue> run(std::vector<RuntimeValue> inputs, const ValueLookup& around,
                                LiveBytes* live = nullptr) const;
  // For engines that know tensors only: `value_of` finds inputs and captured values alike.
  std::vector<Tensor> run(const std::function<Tensor(ValueId)>& value_of) const;

 private:
  std::vector<RuntimeValue> run_kernel(std::span<const RuntimeValue> inputs) const;
  std::vector<RuntimeValue> run_value_op(std::span<RuntimeValue> inputs, const ValueLookup& around,
                                         LiveBytes* live) const;
  void prepare_bodies(const InterpreterContext& context);
  void check_outputs(std::vector<RuntimeValue>& outputs) const;

  Node node_;  // with a name for messages
  std::int64_t opset_ = 0;
  std::int64_t output_bytes_ = 0;  // as far as shapes are known
  ValueOp value_op_ = nullptr;     // null: a kernel
  std::map<const Graph*, std::unique_ptr<Interpreter>> bodies_;
};

// A graph made ready to run any number of times.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph);
  Interpreter(const Graph& graph, const InterpreterContext& context);

  // One value for each input, in order; gives one for each output.
  std::vector<RuntimeValue> run(std::vector<RuntimeValue> inputs, const ValueLookup& around = {},
                                LiveBytes* live = nullptr) const;

  // The same in steps, for who wants to look on: begin, every node in order, finish.
  struct Frame {
    std::vector<RuntimeValue> values;  // by id; those that are stored stay empty
    LiveBytes* live = nullptr;
  };
  Frame begin(std::vector<RuntimeValue> inputs, const ValueLookup& around = {},
              LiveBytes* live = nullptr) const;
  void step(Frame& frame, NodeId node) const;
  std::vector<RuntimeValue> finish(Frame& frame) const;
  const RuntimeValue& value_of(const Frame& frame, ValueId id) const;

 private:
  void plan_lifetimes();
  void set(Frame& frame, ValueId id, RuntimeValue value) const;
  void release(Frame& frame, ValueId id) const;
  std::vector<RuntimeValue> inputs_of(Frame& frame, NodeId node) const;

  const Graph& graph_;
  std::vector<NodeEvaluator> nodes_;
  std::vector<RuntimeValue> stored_;                // by value: initializers
  std::vector<std::vector<ValueId>> last_read_by_;  // by node: values nothing reads after it
  std::vector<ValueId> never_read_;                 // inputs and captures
};

}  // namespace assay::reference
