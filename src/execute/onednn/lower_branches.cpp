// If: each branch becomes a program of its own. A branch that cannot be compiled for the shapes at
// hand (it may be meant for others) is left to the interpreter, should it ever be taken.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "assay/error.h"
#include "assay/infer.h"
#include "base/checked.h"
#include "execute/engines.h"
#include "execute/onednn/lowering.h"

namespace assay::onednn {

namespace {

// A branch as a graph that stands alone: constants that it captured are its own, other captured
// values its inputs.
struct Branch {
  Graph graph;
  std::vector<ValueId> inputs = {};  // of the graph around it
};

Branch branch_of(const Lowering& lowering, const Graph& body) {
  Branch branch{body};
  branch.graph.opsets = lowering.graph().opsets;
  for (const auto& [outer, inner] : branch.graph.take_captures()) {
    branch.graph.value(inner).type = lowering.graph().value(outer).type;
    if (const Tensor* constant = lowering.constant(outer)) {
      branch.graph.add_initializer(inner, *constant);
    } else {
      branch.graph.add_input(inner);
      branch.inputs.push_back(outer);
    }
  }
  return branch;
}

struct CompiledBranch {
  std::shared_ptr<Program> program;  // none: left to the interpreter
  std::vector<Place> inputs = {};
  std::vector<const std::byte*> from = {};

  void run(const std::vector<Place>& targets, const std::vector<std::byte*>& to) const {
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) given.push_back(tensor_at(inputs[i], from[i]));
    program->set_inputs(given);
    program->run();
    const auto results = program->results();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      store(results[i], targets[i], to[i], program->outputs()[i].name);
    }
  }
};

bool gives(const Program& program, const Lowering& lowering, const std::vector<ValueId>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool same = !outputs[i].is_valid() ||
                      program.outputs()[i].type == lowering.graph().value(outputs[i]).type;
    if (!same) return false;
  }
  return program.outputs().size() == outputs.size();
}

CompiledBranch compiled(Lowering& lowering, const Node& node, const char* attribute) {
  const auto* body = node.get<GraphPtr>(attribute);
  if (body == nullptr) return {};
  Branch branch = branch_of(lowering, **body);
  const bool has_dynamic =
      std::ranges::any_of(branch.inputs, [&](ValueId id) { return lowering.is_dynamic(id); });
  if (has_dynamic) return {};
  CompiledBranch compiled;
  try {
    compiled.program =
        compile_onednn(infer_shapes(std::move(branch.graph)), lowering.options().program, nullptr);
  } catch (const Error&) {
    return {};
  }
  if (!gives(*compiled.program, lowering, node.outputs)) return {};
  for (const ValueId id : branch.inputs) compiled.inputs.push_back(lowering.row_major(id));
  return compiled;
}

// Of the branch that takes more.
std::int64_t executed_flops(const std::array<CompiledBranch, 2>& branches) {
  std::int64_t most = 0;
  for (const auto& branch : branches) {
    std::int64_t flops = 0;
    if (branch.program == nullptr) continue;
    for (const StepInfo& step : branch.program->steps()) {
      flops = saturating_add(flops, step.executed_flops);
    }
    most = std::max(most, flops);
  }
  return most;
}

bool lower_if(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const bool lacks_outputs =
      std::ranges::any_of(node.outputs, [](ValueId output) { return !output.is_valid(); });
  if (lacks_outputs || lowering.constant(node.inputs[0]) != nullptr) return false;
  std::array<CompiledBranch, 2> branches = {compiled(lowering, node, "else_branch"),
                                            compiled(lowering, node, "then_branch")};
  const bool none = std::ranges::all_of(
      branches, [](const CompiledBranch& branch) { return branch.program == nullptr; });
  if (none) return false;
  StepDraft draft{.nodes = {id}, .algorithm = "compiled branches"};
  draft.executed_flops = executed_flops(branches);
  const Place condition = lowering.row_major(node.inputs[0]);
  const Binder interpreted = reference_binder(lowering, id, draft);
  std::vector<Place> targets;
  for (const ValueId output : node.outputs) targets.push_back(lowering.native(output));
  for (const auto& branch : branches) {
    if (branch.program != nullptr) lowering.add_inner_memory(branch.program->memory());
    draft.reads.insert(draft.reads.end(), branch.inputs.begin(), branch.inputs.end());
  }
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    auto bound = std::make_shared<std::array<CompiledBranch, 2>>(branches);
    for (auto& branch : *bound) {
      for (const Place& place : branch.inputs) branch.from.push_back(at.bytes(place));
    }
    std::vector<std::byte*> to;
    for (const Place& place : targets) to.push_back(at.bytes(place));
    const auto* is_true = at.bytes(condition);
    return [bound, targets, to, is_true, slow = interpreted(at)] {
      const CompiledBranch& taken = (*bound)[*is_true == std::byte{0} ? 0 : 1];
      if (taken.program == nullptr) return slow();
      taken.run(targets, to);
    };
  });
  return true;
}

}  // namespace

void add_branch_lowering(LowerTable& table) {
  table["If"] = lower_if;
}

}  // namespace assay::onednn
