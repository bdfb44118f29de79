// Pools of 16-bit numbers, channels last: for formats that oneDNN does not take. Sums and maxima
// are float32.
#include "execute/cpu/lower/half_pooling.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

using kernels::IndexRange;
using kernels::KernelCall;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

struct PoolPlan {
  WindowGrid grid;  // of one result for a global pool
  HalfFormat format = HalfFormat::Float16;
  std::int64_t channels = 0;
  bool is_maximum = false;
  bool counts_padding = false;
  // Taps on pixels and, for averages, taps that count, of each window along each axis.
  std::array<std::vector<IndexRange>, 3> inside = {};
  std::array<std::vector<std::int64_t>, 3> counted = {};
};

void find_taps(PoolPlan& plan) {
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = plan.grid.axes[i];
    for (std::int64_t window = 0; window < axis.output; ++window) {
      plan.inside[i].push_back(axis.taps_inside(window));
      plan.counted[i].push_back(plan.counts_padding ? axis.taps_with_padding(window)
                                                    : plan.inside[i].back().count());
    }
  }
}

PoolPlan pool_plan(const Lowering& lowering, const Node& node, const Dims& input) {
  PoolPlan plan{.grid = {},
                .channels = input[1],
                .is_maximum = node.op.ends_with("MaxPool"),
                .counts_padding = node.int_or("count_include_pad", 0) != 0};
  const auto spatial = std::span(input).subspan(2);
  if (node.op.starts_with("Global")) {
    plan.grid.rank = spatial.size();
    for (std::size_t i = 0; i < spatial.size(); ++i) {
      WindowAxis& axis = plan.grid.axes[3 - spatial.size() + i];
      axis.input = axis.kernel = spatial[i];
    }
  } else {
    const KernelCall call{node, {}, lowering.graph().opset()};
    plan.grid = kernels::window_grid(call, spatial, kernels::kernel_shape(call, spatial.size()));
  }
  find_taps(plan);
  return plan;
}

// Where a window lies along each axis.
using WindowPosition = std::array<std::int64_t, 3>;

// The pixels that a window sees.
void find_pixels(const PoolPlan& plan, const std::uint16_t* image, const WindowPosition& window,
                 std::vector<const std::uint16_t*>& pixels) {
  const auto& [deep, down, across] = plan.grid.axes;
  const auto range = [&](std::size_t axis) {
    return plan.inside[axis][static_cast<std::size_t>(window[axis])];
  };
  const IndexRange slices = range(0), rows = range(1), columns = range(2);
  pixels.clear();
  for (std::int64_t z = slices.first; z < slices.last; ++z) {
    for (std::int64_t y = rows.first; y < rows.last; ++y) {
      const std::int64_t row =
          deep.position(window[0], z) * down.input + down.position(window[1], y);
      for (std::int64_t x = columns.first; x < columns.last; ++x)
        pixels.push_back(image +
                         (row * across.input + across.position(window[2], x)) * plan.channels);
    }
  }
}

float divisor(const PoolPlan& plan, const WindowPosition& window) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < 3; ++i) count *= plan.counted[i][static_cast<std::size_t>(window[i])];
  return static_cast<float>(std::max<std::int64_t>(count, 1));
}

void pool_window(const PoolPlan& plan, const std::uint16_t* image, std::int64_t at,
                 std::vector<const std::uint16_t*>& pixels, std::uint16_t* to) {
  const auto& [deep, down, across] = plan.grid.axes;
  const WindowPosition window = {at / across.output / down.output, at / across.output % down.output,
                                 at % across.output};
  find_pixels(plan, image, window, pixels);
  simd().half_pool(plan.format,
                   {.pixels = pixels.data(),
                    .count = pixels.size(),
                    .channels = static_cast<std::size_t>(plan.channels),
                    .is_maximum = plan.is_maximum,
                    .divisor = plan.is_maximum ? 1 : divisor(plan, window)},
                   to);
}

Binder pool_binder(const PoolPlan& plan, const Placement& source, const Placement& result,
                   int threads) {
  return [=](const Addresses& at) -> Runner {
    const auto* from = reinterpret_cast<const std::uint16_t*>(at.bytes(source));
    auto* to = reinterpret_cast<std::uint16_t*>(at.bytes(result));
    return [=] {
      const std::int64_t results = plan.grid.output_elements();
      const std::int64_t image = plan.grid.input_elements() * plan.channels;
      execute::in_parallel(threads, source.dims[0] * results,
                           [&](std::int64_t first, std::int64_t last) {
                             thread_local std::vector<const std::uint16_t*> pixels;
                             for (std::int64_t i = first; i < last; ++i)
                               pool_window(plan, from + i / results * image, i % results, pixels,
                                           to + i * plan.channels);
                           });
    };
  };
}

}  // namespace

bool lower_half_pooling(Lowering& lowering, NodeId id) {
  constexpr std::int64_t kElementsWorthSharing = 32 << 10;
  const Node& node = lowering.node(id);
  const Dims input = lowering.dims(node.inputs[0]);
  const Dims output = lowering.dims(node.outputs[0]);
  const DataType type = lowering.type(node.inputs[0]);
  PoolPlan plan = pool_plan(lowering, node, input);
  plan.format = *half_format(type);
  const Placement source = lowering.in_layout(node.inputs[0], image_desc(input, 0, type));
  const Placement result = lowering.new_placement(image_desc(output, 0, type), output);
  const int threads = source.elements() > kElementsWorthSharing ? lowering.threads() : 1;
  StepDraft draft{.nodes = {id},
                  .algorithm = "window by window",
                  .precision = execute::precision_name(DataType::Float32),
                  .executed_flops = saturating_multiply(result.elements(), plan.grid.taps()),
                  .reads = {source},
                  .writes = {result}};
  lowering.add_step(draft, pool_binder(plan, source, result, threads));
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace assay::cpu
