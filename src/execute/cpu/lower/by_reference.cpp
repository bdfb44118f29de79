// The plain kernel as a step: for ops without a fast form, for bodies that run as often as
// the data says, and for values whose shape only the data knows.
#include <cstring>

#include "execute/cpu/lowering.h"
#include "execute/reference/node_call.h"

namespace assay::cpu {

namespace {

// A value that the step reads: a constant, one in the arena, or one of the dynamic ones.
struct Source {
  ValueId id;
  Tensor constant;
  std::optional<Placement> placement;
};

Source source_of(Lowering& lowering, ValueId id) {
  if (const Tensor* tensor = lowering.constant(id)) return {id, *tensor, {}};
  if (lowering.is_dynamic(id)) return {id, {}, {}};
  return {id, {}, lowering.row_major(id)};
}

struct Target {
  ValueId id;
  std::optional<Placement> placement;  // none: a dynamic value
  std::string name;
};

struct BoundCall {
  reference::NodeCall node;
  std::vector<Source> sources = {};
  std::vector<const std::byte*> from = {};
  std::vector<Target> targets = {};
  std::vector<std::byte*> to = {};
  std::shared_ptr<std::vector<reference::RuntimeValue>> dynamic = {};

  reference::RuntimeValue load(std::size_t i) const {
    const Source& source = sources[i];
    if (!source.id.is_valid()) return {};
    if (source.constant.has_value()) return source.constant;
    if (source.placement) return tensor_at(*source.placement, from[i]);
    return (*dynamic)[source.id.number];
  }

  void run() const {
    auto results = node.run([this](std::size_t i) { return load(i); });
    for (std::size_t i = 0; i < targets.size() && i < results.size(); ++i) {
      if (!targets[i].id.is_valid()) continue;
      if (targets[i].placement) {
        store(results[i], *targets[i].placement, to[i], targets[i].name);
      } else {
        (*dynamic)[targets[i].id.number] = std::move(results[i]);
      }
    }
  }
};

Target target_of(Lowering& lowering, ValueId id) {
  if (!id.is_valid()) return {};
  const std::string& name = lowering.graph().value(id).name;
  if (lowering.is_dynamic(id)) return {id, {}, name};
  const Placement placement = lowering.new_row_major(id);
  lowering.set_placement(id, placement);
  return {id, placement, name};
}

}  // namespace

Tensor tensor_at(const Placement& placement, const std::byte* bytes) {
  const auto size = static_cast<std::size_t>(placement.bytes());
  std::vector<std::byte> copy(bytes, bytes + size);
  return Tensor(placement.type, placement.dims, heap_storage(std::move(copy)));
}

void store(const reference::RuntimeValue& value, const Placement& placement, std::byte* to,
           const std::string& name) {
  const Tensor& tensor = reference::expected_tensor(value, placement.type, placement.dims, name);
  if (tensor.byte_size() > 0) std::memcpy(to, tensor.bytes().data(), tensor.byte_size());
}

Binder reference_binder(Lowering& lowering, NodeId id, StepDraft& draft) {
  const Node& node = lowering.node(id);
  reference::NodeCall plain = reference::node_call(lowering.graph(), id);
  std::vector<Source> sources;
  for (const ValueId value : plain.reads) {
    sources.push_back(value.is_valid() ? source_of(lowering, value) : Source{});
    if (sources.back().placement) draft.reads.push_back(*sources.back().placement);
  }
  std::vector<Target> targets;
  for (const ValueId value : node.outputs) {
    targets.push_back(target_of(lowering, value));
    if (targets.back().placement) draft.writes.push_back(*targets.back().placement);
  }
  const BoundCall unbound{.node = std::move(plain),
                          .sources = std::move(sources),
                          .targets = std::move(targets),
                          .dynamic = lowering.dynamic_values()};
  return [unbound](const Addresses& at) -> Runner {
    auto call = std::make_shared<BoundCall>(unbound);
    for (const Source& source : call->sources) {
      call->from.push_back(source.placement ? at.bytes(*source.placement) : nullptr);
    }
    for (const Target& target : call->targets) {
      call->to.push_back(target.placement ? at.bytes(*target.placement) : nullptr);
    }
    return [call] { call->run(); };
  };
}

void lower_by_reference(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  StepDraft draft{.nodes = {id},
                  .algorithm = "reference",
                  .fell_back = reference::reason_for_plain_kernel(
                      node, [&](ValueId value) { return lowering.is_dynamic(value); },
                      "no fast kernel for this form of " + node.op)};
  const Binder bind = reference_binder(lowering, id, draft);
  lowering.add_step(draft, bind);
}

}  // namespace assay::cpu
