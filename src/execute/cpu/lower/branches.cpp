// If: each branch becomes a program of its own. A branch that cannot be compiled for the shapes at
// hand (it may be meant for others) is left to the interpreter, should it ever be taken.
#include <algorithm>
#include <array>
#include <memory>

#include "assay/error.h"
#include "assay/infer.h"
#include "execute/cpu/cpu_program.h"
#include "execute/cpu/lower/body.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

namespace {

struct CompiledBranch {
  std::shared_ptr<Program> program;  // none: left to the interpreter
  std::vector<Placement> inputs = {};
};
using Branches = std::array<CompiledBranch, 2>;  // taken for false, and for true

bool gives(const Program& program, const Lowering& lowering, const std::vector<ValueId>& outputs) {
  return std::ranges::equal(program.outputs(), outputs, [&](const Value& value, ValueId id) {
    return value.type == lowering.graph().value(id).type;
  });
}

// Nothing if the branch does not fit the shapes at hand; that there is no memory for it, or that
// the user gave up, is passed on.
std::shared_ptr<Program> program_of(Graph branch, ProgramOptions options) {
  options.keep_outputs = true;
  try {
    return compile_cpu(infer_shapes(std::move(branch)), options, nullptr);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    return nullptr;
  }
}

CompiledBranch compiled(Lowering& lowering, const Node& node, const char* attribute) {
  const auto* body = node.get<GraphPtr>(attribute);
  if (body == nullptr) return {};
  StandaloneBody branch = standalone_body(lowering, **body);
  const auto is_dynamic = [&](ValueId id) { return lowering.is_dynamic(id); };
  if (std::ranges::any_of(branch.captured, is_dynamic)) return {};
  CompiledBranch compiled{program_of(std::move(branch.graph), lowering.options().program)};
  if (compiled.program == nullptr || !gives(*compiled.program, lowering, node.outputs)) return {};
  for (const ValueId id : branch.captured) compiled.inputs.push_back(lowering.row_major(id));
  return compiled;
}

std::int64_t flops_of(const CompiledBranch& branch) {
  return branch.program == nullptr ? 0 : executed_flops(branch.program->steps());
}

// What of the two does not run fast, and why; empty if all does.
std::string slow_part(const Branches& branches) {
  for (const CompiledBranch& branch : branches) {
    if (branch.program == nullptr) return "one of its branches would run in the interpreter";
  }
  for (const CompiledBranch& branch : branches) {
    const std::string slow = slow_step(branch.program->steps());
    if (!slow.empty()) return "in a branch: " + slow;
  }
  return "";
}

Runner runner_of(const CompiledBranch& branch, const std::vector<Placement>& targets,
                 const Addresses& at) {
  std::vector<const std::byte*> from;
  for (const Placement& placement : branch.inputs) from.push_back(at.bytes(placement));
  std::vector<std::byte*> to;
  for (const Placement& placement : targets) to.push_back(at.bytes(placement));
  return [branch, targets, from, to] {
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < from.size(); ++i) {
      given.push_back(tensor_at(branch.inputs[i], from[i]));
    }
    branch.program->set_inputs(given);
    branch.program->run();
    const auto results = branch.program->results();
    for (std::size_t i = 0; i < to.size(); ++i) {
      store(results[i], targets[i], to[i], branch.program->outputs()[i].name);
    }
  };
}

bool lower_if(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto is_missing = [](ValueId output) { return !output.is_valid(); };
  if (std::ranges::any_of(node.outputs, is_missing)) return false;
  if (lowering.constant(node.inputs[0]) != nullptr) return false;
  if (lowering.native(node.inputs[0]).elements() != 1) return false;  // the kernel refuses it
  const Branches branches = {compiled(lowering, node, "else_branch"),
                             compiled(lowering, node, "then_branch")};
  if (branches[0].program == nullptr && branches[1].program == nullptr) return false;
  StepDraft draft{.nodes = {id},
                  .algorithm = "compiled branches",
                  .executed_flops = std::max(flops_of(branches[0]), flops_of(branches[1])),
                  .fell_back = slow_part(branches)};
  const Placement condition = lowering.row_major(node.inputs[0]);
  const Binder interpreted = reference_binder(lowering, id, draft);
  std::vector<Placement> targets;
  for (const ValueId output : node.outputs) targets.push_back(lowering.native(output));
  for (const CompiledBranch& branch : branches) {
    if (branch.program != nullptr) lowering.add_inner_memory(branch.program->memory());
  }
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    std::array<Runner, 2> runners;
    for (std::size_t i = 0; i < runners.size(); ++i) {
      runners[i] =
          branches[i].program == nullptr ? interpreted(at) : runner_of(branches[i], targets, at);
    }
    return
        [runners, is_true = at.bytes(condition)] { runners[*is_true == std::byte{0} ? 0 : 1](); };
  });
  return true;
}

}  // namespace

void add_branch_lowering(LowerTable& table) {
  table["If"] = lower_if;
}

}  // namespace assay::cpu
