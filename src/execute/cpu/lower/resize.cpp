// Resize, Upsample and their gradient, in the layout their operand has.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/kernels/resize_passes.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/lanes.h"
#include "kernels/resize_plan.h"

namespace assay::cpu {

using kernels::is_identity;
using kernels::KernelCall;
using kernels::product_or_zero;
using kernels::resize_plan;
using kernels::ResizePlan;
using kernels::Taps;

namespace {

bool is_gradient(const Node& node) {
  return node.domain == kOwnDomain;
}

// All inputs but the first, which are settings; nothing if one is known only at run time.
std::optional<std::vector<Tensor>> settings_of(const Lowering& lowering, const Node& node) {
  std::vector<Tensor> settings(node.inputs.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) continue;
    const Tensor* known = lowering.constant(node.inputs[i]);
    if (known == nullptr) return {};
    settings[i] = *known;
  }
  return settings;
}

// By axis: what each element is made of. An axis that stays as it is has none.
using AllTaps = std::vector<std::vector<Taps>>;

AllTaps taps_of_step(const Node& node, const ResizePlan& plan, const Dims& input) {
  AllTaps taps;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    const auto& forward = plan.taps[axis];
    if (is_identity(forward, input[axis])) {
      taps.emplace_back();
    } else {
      taps.push_back(is_gradient(node) ? reversed_taps(forward, input[axis]) : forward);
    }
  }
  return taps;
}

// The operand and the result as many planes, each of them resized on its own.
struct Planes {
  Placement source;
  Placement result;
  std::int64_t count = 1;
  std::vector<ResizePass> passes;

  std::int64_t source_elements() const { return passes.front().operands(); }
  std::int64_t workspace() const {  // floats between two passes
    std::int64_t most = 0;
    for (std::size_t i = 0; i + 1 < passes.size(); ++i) most = std::max(most, passes[i].results());
    return most;
  }
  std::int64_t flops() const {
    std::int64_t sum = 0;
    for (const ResizePass& pass : passes) sum = saturating_add(sum, pass.flops());
    return saturating_multiply(sum, count);
  }
};

std::size_t axes_before_the_first(const AllTaps& taps) {
  const auto resized = std::ranges::find_if(taps, [](const auto& axis) { return !axis.empty(); });
  return static_cast<std::size_t>(resized - taps.begin());
}

void cut_into_planes(Planes& planes, const Dims& dims, const AllTaps& taps) {
  const auto lead = static_cast<std::ptrdiff_t>(axes_before_the_first(taps));
  planes.count = product_or_zero(std::span(dims).first(static_cast<std::size_t>(lead)));
  planes.passes = resize_passes(Dims(dims.begin() + lead, dims.end()),
                                AllTaps(taps.begin() + lead, taps.end()));
}

// Blocks of channels stay where they are; a padded one holds zeros, and will.
bool lay_in_blocks(Lowering& lowering, const Node& node, const AllTaps& taps, Planes& planes) {
  const Placement native = lowering.native(node.inputs[0]);
  const auto shape = block_shape(native);
  if (!shape || !taps[0].empty() || !taps[1].empty()) return false;
  Dims dims = native.dims;
  dims[1] = shape->channel_blocks;
  dims.push_back(shape->block);
  AllTaps with_block = taps;
  with_block.emplace_back();
  cut_into_planes(planes, dims, with_block);
  const Dims result = lowering.dims(node.outputs[0]);
  planes.source = native;
  planes.result = lowering.new_placement(like_blocks(native, result), result);
  return true;
}

void lay_in_rows(Lowering& lowering, const Node& node, const AllTaps& taps, Planes& planes) {
  planes.source = lowering.row_major(node.inputs[0]);
  planes.result = lowering.new_row_major(node.outputs[0]);
  cut_into_planes(planes, planes.source.dims, taps);
}

// `workspace` has space for what lies between passes, twice.
void resize_plane(const std::vector<ResizePass>& passes, const float* from, float* to,
                  float* workspace, std::int64_t space) {
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const bool is_last = i + 1 == passes.size();
    float* next = is_last ? to : workspace + (i % 2 == 0 ? 0 : space);
    passes[i].run(from, next);
    from = next;
  }
}

Binder resize_binder(const Planes& planes, int threads, const Placement& workspace) {
  return [=](const Addresses& at) -> Runner {
    const float* from = at.floats(planes.source);
    float* to = at.floats(planes.result);
    float* floats = at.floats(workspace);
    return [=] {
      const std::int64_t source = planes.source_elements();
      const std::int64_t result = planes.passes.back().results();
      const std::int64_t space = planes.workspace();
      execute::for_each_in_parallel(
          threads, static_cast<std::size_t>(threads), [&](std::size_t part) {
            const auto share = [&](std::size_t i) {
              return planes.count * static_cast<std::int64_t>(i) / threads;
            };
            float* own = floats + 2 * space * static_cast<std::int64_t>(part);
            for (std::int64_t plane = share(part); plane < share(part + 1); ++plane)
              resize_plane(planes.passes, from + plane * source, to + plane * result, own, space);
          });
    };
  };
}

void add_resize_step(Lowering& lowering, NodeId id, const Planes& planes) {
  const int threads = threads_for(
      lowering, {planes.count, std::max(planes.source_elements(), planes.passes.back().results())});
  const std::int64_t floats = std::max<std::int64_t>(1, 2 * planes.workspace() * threads);
  const Placement workspace =
      row_major_placement(lowering.new_buffer(floats * static_cast<std::int64_t>(sizeof(float))),
                          DataType::Float32, {floats});
  lowering.add_step({.nodes = {id},
                     .algorithm = "by taps",
                     .executed_flops = planes.flops(),
                     .reads = {planes.source},
                     .writes = {planes.result},
                     .workspace = {workspace.buffer}},
                    resize_binder(planes, threads, workspace));
  lowering.set_placement(lowering.node(id).outputs[0], planes.result);
}

bool lower_resize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims from = lowering.dims(node.inputs[0]);
  const Dims to = lowering.dims(node.outputs[0]);
  const auto settings = settings_of(lowering, node);
  const bool is_empty = product_or_zero(from) == 0 || product_or_zero(to) == 0;
  if (!lowering.is_float(node.inputs[0]) || !settings || is_empty) return false;
  const Dims& input = is_gradient(node) ? to : from;
  const ResizePlan plan = resize_plan(KernelCall{node, *settings, lowering.graph().opset()}, input);
  if (plan.dims != (is_gradient(node) ? from : to)) return false;
  if (plan.has_outside() && !is_gradient(node)) return false;
  const AllTaps taps = taps_of_step(node, plan, input);
  if (axes_before_the_first(taps) == taps.size()) return false;
  Planes planes;
  if (!lay_in_blocks(lowering, node, taps, planes)) lay_in_rows(lowering, node, taps, planes);
  add_resize_step(lowering, id, planes);
  return true;
}

}  // namespace

void add_resize_lowering(LowerTable& table) {
  for (const char* op : {"Resize", "Upsample", "assay.ResizeGradient"}) table[op] = lower_resize;
}

}  // namespace assay::cpu
