// The plain kernel as a step: for ops without a fast form, for bodies that run as often as
// the data says, and for values whose shape only the data knows.
#include <cstring>
#include <map>

#include "base/fail.h"
#include "base/text.h"
#include "execute/cpu/lowering.h"
#include "execute/reference/interpreter.h"
#include "graph/node_kinds.h"

namespace assay::cpu {

using graph::holds_subgraph;

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

// Inputs in order, then what the node's bodies capture.
std::vector<ValueId> values_read(const Node& node) {
  std::vector<ValueId> ids = node.inputs;
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Capture& capture : body.captures()) ids.push_back(capture.outer);
  });
  return ids;
}

struct Target {
  ValueId id;
  std::optional<Placement> placement;  // none: a dynamic value
  std::string name;
};

struct BoundCall {
  std::shared_ptr<reference::NodeEvaluator> evaluator;
  std::size_t inputs = 0;
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
    std::vector<reference::RuntimeValue> given;
    std::map<ValueId, reference::RuntimeValue> captured;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (i < inputs) {
        given.push_back(load(i));
      } else {
        captured.emplace(sources[i].id, load(i));
      }
    }
    const reference::ValueLookup around = [&](ValueId id) -> const reference::RuntimeValue& {
      return captured.at(id);
    };
    auto results = evaluator->run(std::move(given), around);
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

std::string reason_of(const Lowering& lowering, const Node& node) {
  for (const auto* ids : {&node.outputs, &node.inputs}) {
    for (const ValueId id : *ids) {
      if (id.is_valid() && lowering.is_dynamic(id)) return "its shapes are known only at run time";
    }
  }
  if (holds_subgraph(node)) return "its body runs in the interpreter";
  return "no fast kernel for this form of " + node.op;
}

}  // namespace

Tensor tensor_at(const Placement& placement, const std::byte* bytes) {
  const auto size = static_cast<std::size_t>(placement.bytes());
  std::vector<std::byte> copy(bytes, bytes + size);
  return Tensor(placement.type, placement.dims, heap_storage(std::move(copy)));
}

void store(const reference::RuntimeValue& value, const Placement& placement, std::byte* to,
           const std::string& name) {
  const Tensor* tensor = value.tensor();
  if (tensor == nullptr || tensor->type() != placement.type || tensor->dims() != placement.dims) {
    fail_bad_input("'{}' should be {}[{}], the kernel gave {}", name, assay::name(placement.type),
                   join_dims(placement.dims),
                   tensor ? tensor_type(tensor->type(), tensor->shape()).to_string() : "no tensor");
  }
  if (tensor->byte_size() > 0) std::memcpy(to, tensor->bytes().data(), tensor->byte_size());
}

Binder reference_binder(Lowering& lowering, NodeId id, StepDraft& draft) {
  const Node& node = lowering.node(id);
  auto evaluator = std::make_shared<reference::NodeEvaluator>(lowering.graph(), id);
  std::vector<Source> sources;
  for (const ValueId value : values_read(node)) {
    sources.push_back(value.is_valid() ? source_of(lowering, value) : Source{});
    if (sources.back().placement) draft.reads.push_back(*sources.back().placement);
  }
  std::vector<Target> targets;
  for (const ValueId value : node.outputs) {
    targets.push_back(target_of(lowering, value));
    if (targets.back().placement) draft.writes.push_back(*targets.back().placement);
  }
  const BoundCall unbound{.evaluator = std::move(evaluator),
                          .inputs = node.inputs.size(),
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
  StepDraft draft{
      .nodes = {id}, .algorithm = "reference", .fell_back = reason_of(lowering, lowering.node(id))};
  const Binder bind = reference_binder(lowering, id, draft);
  lowering.add_step(draft, bind);
}

}  // namespace assay::cpu
