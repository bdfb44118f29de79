// The plain kernel on the host: for ops without a form for the GPU, for bodies that run as often as
// the data says, and for values whose shape only the data knows. What it reads is copied there by
// steps of their own, what it computes is copied back when a step on the GPU reads it.
#include <map>

#include "base/fail.h"
#include "base/text.h"
#include "execute/cuda/lowering.h"
#include "execute/precision.h"
#include "execute/reference/interpreter.h"
#include "graph/node_kinds.h"

namespace assay::cuda {

namespace {

using HostValues = std::shared_ptr<std::vector<reference::RuntimeValue>>;

// Inputs in order, then what the node's bodies capture.
std::vector<ValueId> values_read(const Node& node) {
  std::vector<ValueId> ids = node.inputs;
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Capture& capture : body.captures()) ids.push_back(capture.outer);
  });
  return ids;
}

std::string reason_of(const Lowering& lowering, const Node& node) {
  for (const auto* ids : {&node.outputs, &node.inputs})
    for (const ValueId id : *ids)
      if (id.is_valid() && lowering.is_dynamic(id)) return "its shapes are known only at run time";
  if (graph::holds_subgraph(node)) return "its body runs in the interpreter";
  return "no kernel for this form of " + node.op + " on the GPU";
}

void add_copy_to_host(Lowering& lowering, ValueId id) {
  const Placement from = lowering.row_major(id);
  const StepDraft draft{.name = lowering.graph().value(id).name,
                        .op = "Copy",
                        .algorithm = "to the host",
                        .precision = execute::precision_name(from.type),
                        .reads = {from},
                        .on_host = true};
  lowering.add_step(draft, [from, id, values = lowering.host_values()](const Addresses& at) {
    return [from, id, values, address = at.of(from)](const gpu::Stream& stream) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes()));
      if (!bytes.empty()) stream.copy_out(bytes, address);
      stream.wait("copying to the host");
      (*values)[id.number] = Tensor(from.type, from.dims, heap_storage(std::move(bytes)));
    };
  });
  lowering.set_on_host(id);
}

// One node that the interpreter runs.
struct HostCall {
  std::shared_ptr<reference::NodeEvaluator> evaluator;
  std::vector<ValueId> reads;
  std::size_t inputs = 0;  // of what is read: the rest is captured
  std::vector<Tensor> constants;
  std::vector<ValueId> writes;
  HostValues values;

  reference::RuntimeValue load(std::size_t i) const {
    if (!reads[i].is_valid()) return {};
    return constants[i].has_value() ? constants[i] : (*values)[reads[i].number];
  }

  void run() const {
    std::vector<reference::RuntimeValue> given;
    std::map<ValueId, reference::RuntimeValue> captured;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (i < inputs) {
        given.push_back(load(i));
      } else {
        captured.emplace(reads[i], load(i));
      }
    }
    const reference::ValueLookup around = [&](ValueId id) -> const reference::RuntimeValue& {
      return captured.at(id);
    };
    auto results = evaluator->run(std::move(given), around);
    for (std::size_t i = 0; i < writes.size() && i < results.size(); ++i)
      if (writes[i].is_valid()) (*values)[writes[i].number] = std::move(results[i]);
  }
};

// Of values of known shape, for the step's traffic.
std::vector<Placement> described(const Lowering& lowering, const std::vector<ValueId>& ids) {
  std::vector<Placement> placements;
  for (const ValueId id : ids)
    if (id.is_valid() && !lowering.is_dynamic(id))
      placements.push_back(row_major_placement(lowering.type(id), lowering.dims(id)));
  return placements;
}

}  // namespace

void lower_on_host(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  HostCall call{.evaluator = std::make_shared<reference::NodeEvaluator>(lowering.graph(), id),
                .reads = values_read(node),
                .inputs = node.inputs.size(),
                .constants = {},
                .writes = node.outputs,
                .values = lowering.host_values()};
  for (const ValueId read : call.reads) {
    const Tensor* constant = lowering.constant(read);
    call.constants.push_back(constant == nullptr ? Tensor() : *constant);
    const bool is_there = !read.is_valid() || constant != nullptr || lowering.is_on_host(read);
    if (!is_there) add_copy_to_host(lowering, read);
  }
  const StepDraft draft{.nodes = {id},
                        .algorithm = "reference",
                        .reads = described(lowering, call.reads),
                        .writes = described(lowering, call.writes),
                        .fell_back = reason_of(lowering, node),
                        .on_host = true};
  lowering.add_step(
      draft, [call](const Addresses&) { return [call](const gpu::Stream&) { call.run(); }; });
  for (const ValueId output : node.outputs)
    if (output.is_valid()) lowering.set_on_host(output);
}

void add_copy_to_device(Lowering& lowering, ValueId id, const Placement& to) {
  const std::string name = lowering.graph().value(id).name;
  const StepDraft draft{.name = name,
                        .op = "Copy",
                        .algorithm = "to the GPU",
                        .precision = execute::precision_name(to.type),
                        .writes = {to},
                        .on_host = true};
  lowering.add_step(draft, [to, id, name, values = lowering.host_values()](const Addresses& at) {
    return [to, id, name, values, address = at.of(to)](const gpu::Stream& stream) {
      const Tensor* tensor = (*values)[id.number].tensor();
      if (tensor == nullptr || tensor->type() != to.type || tensor->dims() != to.dims) {
        fail_bad_input(
            "'{}' should be {}[{}], the kernel gave {}", name, assay::name(to.type),
            join_dims(to.dims),
            tensor ? tensor_type(tensor->type(), tensor->shape()).to_string() : "no tensor");
      }
      if (tensor->byte_size() == 0) return;
      stream.copy_in(address, tensor->bytes());
      stream.wait("copying to the GPU");
    };
  });
}

}  // namespace assay::cuda
