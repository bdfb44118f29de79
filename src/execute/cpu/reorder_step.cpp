// A change of layout as a step of its own: by oneDNN where a blocked layout is involved, else by
// strides.
#include "execute/cpu/kernels/copy.h"
#include "execute/cpu/lowering.h"
#include "execute/cpu/names.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Below this many bytes a second thread costs more than it brings.
constexpr std::int64_t kBytesWorthSharing = 64 << 10;

// A blocked layout may see more axes than the value has, such as groups of channels: the place
// beside it, row by row, is seen the same way.
Desc desc_beside(const Placement& placement, const Placement& other) {
  const bool differs =
      !placement.blocked && other.blocked && other.blocked->dims() != placement.dims;
  return differs ? plain_desc(other.blocked->dims(), placement.type) : desc_of(placement);
}

// Types apart, or by strides.
bool lie_alike(const Placement& from, const Placement& to) {
  if (!from.blocked || !to.blocked) return !from.blocked && !to.blocked;
  return with_type(*from.blocked, to.type) == *to.blocked;
}

}  // namespace

Binder copy_binder(const Lowering& lowering, const Placement& from, const Placement& to) {
  const CopyPlan plan = simplified({.dims = to.dims,
                                    .from = from.strides,
                                    .to = to.strides,
                                    .element = static_cast<std::size_t>(bits(to.type)) / 8});
  const std::int64_t pieces = piece_count(plan);
  const int threads = to.bytes() >= kBytesWorthSharing ? lowering.threads() : 1;
  return [=](const Addresses& at) -> Runner {
    const std::byte* source = at.bytes(from);
    std::byte* target = at.bytes(to);
    return [=] {
      execute::in_parallel(threads, pieces, [&](std::int64_t first, std::int64_t last) {
        copy_pieces(plan, source, target, first, last);
      });
    };
  };
}

void add_scratchpad(Lowering& lowering, const Desc& wanted, StepDraft& draft,
                    std::vector<Argument>& arguments) {
  const std::size_t bytes = bytes_of(wanted);
  if (bytes == 0) return;
  Placement workspace;
  workspace.buffer = lowering.new_buffer(static_cast<std::int64_t>(bytes));
  draft.workspace.push_back(workspace.buffer);
  arguments.push_back({argument::kScratchpad, wanted, workspace});
}

BufferId add_workspace(Lowering& lowering, std::int64_t floats, StepDraft& draft) {
  if (floats == 0) return {};
  const BufferId buffer = lowering.new_buffer(floats * static_cast<std::int64_t>(sizeof(float)));
  draft.workspace.push_back(buffer);
  return buffer;
}

void Lowering::add_reorder(ValueId value, const Placement& from, const Placement& to) {
  if (from.type != to.type && lie_alike(from, to)) return add_conversion(value, from, to);
  PlannedStep step;
  step.info.name = graph().value(value).name + " (reorder)";
  step.info.op = "Reorder";
  step.info.precision = execute::precision_name(to.type);
  step.info.device = kDevice;
  // The time of a change of layout belongs to the layer whose result it is.
  const NodeId maker = graph().producer(value);
  if (maker.is_valid()) step.info.layers = origins_of({maker});
  step.info.bytes_read = from.bytes();
  step.info.bytes_written = to.bytes();
  step.touched = {from.buffer, to.buffer};
  if (from.blocked || to.blocked) {
    const Desc source = desc_beside(from, to);
    const Desc target = desc_beside(to, from);
    step.info.algorithm = "reorder";
    step.bind = primitive_binder(reorder_primitive(source, target),
                                 {{argument::kFrom, source, from}, {argument::kTo, target, to}});
  } else {
    step.info.algorithm = "copy";
    step.bind = copy_binder(*this, from, to);
  }
  steps_.push_back(std::move(step));
}

}  // namespace assay::cpu
