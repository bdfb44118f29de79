// MaxPoolGradient by our own loop, which finds each maximum again instead of storing its index. The
// gradient of a ReLU before the pool is computed in the same pass.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/pooling.h"

namespace assay::cpu {

using kernels::IndexRange;
using kernels::KernelCall;
using kernels::pooling_grid;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// Over one or two axes, a plane is small enough to be a single piece of work.
std::optional<WindowGrid> plane_grid(const Lowering& lowering, const Node& node, const Dims& dims) {
  if (dims.size() < 3 || dims.size() > 4 || checked_product(dims).value_or(0) == 0) return {};
  return pooling_grid(KernelCall{node, {}, lowering.graph().opset()}, dims);
}

std::vector<PoolWindow> windows_of(const WindowGrid& grid) {
  const auto& [depth, height, width] = grid.axes;
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  std::vector<PoolWindow> windows;
  for (std::int64_t y = 0; y < height.output; ++y) {
    const IndexRange rows = height.taps_inside(y);
    for (std::int64_t x = 0; x < width.output; ++x) {
      const IndexRange columns = width.taps_inside(x);
      const bool is_outside = rows.count() == 0 || columns.count() == 0;
      const std::int64_t first =
          height.position(y, rows.first) * width.input + width.position(x, columns.first);
      windows.push_back({is_outside ? 0 : size(first), is_outside ? 0 : size(rows.count()),
                         size(columns.count())});
    }
  }
  return windows;
}

bool are_squares(const WindowAxis& axis) {
  return axis.kernel == 2 && axis.stride == 2 && axis.dilation == 1 && axis.pad_begin == 0 &&
         axis.input == 2 * axis.output;
}

// A ReLU's gradient that alone reads the result, and whose results the pooled images are.
NodeId relu_behind(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const NodeId reader = lowering.only_reader(node.outputs[0]);
  if (!reader.is_valid() || lowering.is_covered(reader)) return {};
  const Node& relu = lowering.node(reader);
  const bool is_it = relu.domain == kOwnDomain && relu.op == "ReluGradient" &&
                     relu.inputs[0] == node.inputs[0] && relu.inputs[1] == node.outputs[0];
  return is_it ? reader : NodeId{};
}

BlockShape shape_of(const Placement& images) {
  if (const auto shape = block_shape(images)) return *shape;
  const std::int64_t pixels = checked_product(std::span(images.dims).subspan(2)).value_or(0);
  return {images.dims[0], images.dims[1], pixels, 1};
}

Placement new_like(Lowering& lowering, const Placement& placement) {
  Placement fresh = placement;
  fresh.offset = 0;
  fresh.buffer = lowering.new_buffer(placement.blocked
                                         ? static_cast<std::int64_t>(bytes_of(*placement.blocked))
                                         : placement.bytes());
  return fresh;
}

Binder gradient_binder(const Lowering& lowering, const WindowGrid& grid, const BlockShape& blocks,
                       bool positive_only, const Placement& images, const Placement& gradient,
                       const Placement& result) {
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const PoolGradientShape shape{
      .height = size(grid.axes[1].input),
      .width = size(grid.axes[2].input),
      .block = size(blocks.block),
      .row_step = size(grid.axes[1].dilation),
      .column_step = size(grid.axes[2].dilation),
      .windows = size(grid.output_elements()),
      .are_squares = are_squares(grid.axes[1]) && are_squares(grid.axes[2]),
      .positive_only = positive_only};
  const int threads = lowering.threads();
  return [=, windows = windows_of(grid)](const Addresses& at) -> Runner {
    const float* from = at.floats(images);
    const float* gradients = at.floats(gradient);
    float* to = at.floats(result);
    const SimdKernels& kernels = simd_for(shape.block);
    return [=, &kernels] {
      PoolGradientShape planes = shape;
      planes.taps = windows.data();
      execute::in_parallel(threads, blocks.batch * blocks.channel_blocks,
                           [&](std::int64_t first, std::int64_t last) {
                             for (std::int64_t plane = first; plane < last; ++plane) {
                               const std::int64_t at_image = plane * blocks.pixels * blocks.block;
                               const std::int64_t at_window =
                                   plane * static_cast<std::int64_t>(shape.windows) * blocks.block;
                               kernels.pool_gradient(planes, from + at_image, gradients + at_window,
                                                     to + at_image);
                             }
                           });
    };
  };
}

bool lower_max_pool_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || !lowering.is_float(node.inputs[1])) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto grid = plane_grid(lowering, node, dims);
  if (!grid) return false;
  const Placement native = lowering.native(node.inputs[0]);
  const auto native_shape = block_shape(native);
  const Placement images = native_shape ? native : lowering.row_major(node.inputs[0]);
  const BlockShape blocks = shape_of(images);
  const Dims windows = lowering.dims(node.inputs[1]);
  const Placement gradient = images.blocked
                                 ? lowering.in_layout(node.inputs[1], like_blocks(images, windows))
                                 : lowering.row_major(node.inputs[1]);
  const Placement result = new_like(lowering, images);
  const NodeId relu = relu_behind(lowering, id);
  StepDraft draft{.nodes = {id},
                  .algorithm = "window by window",
                  .executed_flops = saturating_multiply(2 * grid->taps(), gradient.elements()),
                  .reads = {images, gradient},
                  .writes = {result}};
  if (relu.is_valid()) {
    draft.nodes.push_back(relu);
    lowering.cover(relu);
  }
  lowering.add_step(
      draft, gradient_binder(lowering, *grid, blocks, relu.is_valid(), images, gradient, result));
  lowering.set_placement(relu.is_valid() ? lowering.node(relu).outputs[0] : node.outputs[0],
                         result);
  return true;
}

}  // namespace

void add_pooling_gradient_lowering(LowerTable& table) {
  table["assay.MaxPoolGradient"] = lower_max_pool_gradient;
}

}  // namespace assay::cpu
