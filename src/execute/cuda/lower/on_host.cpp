// The plain kernel on the host: for ops without a form for the GPU, for bodies that run as often as
// the data says, and for values whose shape only the data knows. What it reads is copied there by
// steps of their own, what it computes is copied back when a step on the GPU reads it.
#include "execute/cuda/lowering.h"
#include "execute/precision.h"
#include "execute/reference/node_call.h"

namespace assay::cuda {

namespace {

using HostValues = std::shared_ptr<std::vector<reference::RuntimeValue>>;

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
  reference::NodeCall node;
  std::vector<Tensor> constants = {};  // by what is read
  std::vector<ValueId> writes = {};
  HostValues values = {};

  reference::RuntimeValue load(std::size_t i) const {
    const ValueId read = node.reads[i];
    if (!read.is_valid()) return {};
    return constants[i].has_value() ? constants[i] : (*values)[read.number];
  }

  void run() const {
    auto results = node.run([this](std::size_t i) { return load(i); });
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
  HostCall call{.node = reference::node_call(lowering.graph(), id),
                .writes = node.outputs,
                .values = lowering.host_values()};
  for (const ValueId read : call.node.reads) {
    const Tensor* constant = lowering.constant(read);
    call.constants.push_back(constant == nullptr ? Tensor() : *constant);
    const bool is_there = !read.is_valid() || constant != nullptr || lowering.is_on_host(read);
    if (!is_there) add_copy_to_host(lowering, read);
  }
  const StepDraft draft{.nodes = {id},
                        .algorithm = "reference",
                        .reads = described(lowering, call.node.reads),
                        .writes = described(lowering, call.writes),
                        .fell_back = reference::reason_for_plain_kernel(
                            node, [&](ValueId value) { return lowering.is_dynamic(value); },
                            "no kernel for this form of " + node.op + " on the GPU"),
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
      const Tensor& tensor =
          reference::expected_tensor((*values)[id.number], to.type, to.dims, name);
      if (tensor.byte_size() == 0) return;
      stream.copy_in(address, tensor.bytes());
      stream.wait("copying to the GPU");
    };
  });
}

}  // namespace assay::cuda
