// Averages of 8-bit numbers, channels last: QLinearGlobalAveragePool and QLinearAveragePool.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

using kernels::KernelCall;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

struct AveragePlan {
  Scale8 from, to;
  WindowGrid grid;  // of 1×1 results for a global pool
  std::int64_t channels = 0;
  bool counts_padding = false;
};

std::int64_t window_size(const AveragePlan& plan) {
  std::int64_t size = 1;
  for (const WindowAxis& axis : plan.grid.axes) size *= axis.kernel;
  return size;
}

// One result: all taps of its window that lie inside the image.
void average(const AveragePlan& plan, const std::byte* image, const std::int64_t (&window)[3],
             std::vector<std::int32_t>& sums, std::byte* to) {
  std::ranges::fill(sums, 0);
  const auto& axes = plan.grid.axes;
  const auto inside = [&](std::size_t axis) { return axes[axis].taps_inside(window[axis]); };
  const auto position = [&](std::size_t axis, std::int64_t tap) {
    return window[axis] * axes[axis].stride - axes[axis].pad_begin + tap * axes[axis].dilation;
  };
  const auto across = inside(2);
  std::int64_t count = 0;
  for (std::int64_t depth = inside(0).first; depth < inside(0).last; ++depth) {
    for (std::int64_t row = inside(1).first; row < inside(1).last; ++row) {
      const std::int64_t pixel =
          (position(0, depth) * axes[1].input + position(1, row)) * axes[2].input +
          position(2, across.first);
      const ByteRows rows{.count = static_cast<std::size_t>(across.count()),
                          .stride = static_cast<std::size_t>(plan.channels * axes[2].dilation),
                          .width = static_cast<std::size_t>(plan.channels)};
      simd().add_rows(image + pixel * plan.channels, plan.from.is_signed, rows, sums.data());
      count += across.count();
    }
  }
  const std::int64_t divisor =
      plan.counts_padding ? window_size(plan) : std::max<std::int64_t>(count, 1);
  const float factor = plan.from.scale / (plan.to.scale * static_cast<float>(divisor));
  const auto shift = static_cast<std::int32_t>(count * plan.from.zero_point);
  simd().requantize(sums.data(), factor, shift, plan.to, to, sums.size());
}

Binder average_binder(const AveragePlan& plan, const Placement& source, const Placement& result,
                      int threads) {
  return [=](const Addresses& at) -> Runner {
    const std::byte* from = at.bytes(source);
    std::byte* to = at.bytes(result);
    return [=] {
      const auto& axes = plan.grid.axes;
      const std::int64_t results = axes[0].output * axes[1].output * axes[2].output;
      const std::int64_t image = axes[0].input * axes[1].input * axes[2].input * plan.channels;
      execute::in_parallel(
          threads, source.dims[0] * results, [&](std::int64_t first, std::int64_t last) {
            std::vector<std::int32_t> sums(static_cast<std::size_t>(plan.channels));
            for (std::int64_t i = first; i < last; ++i) {
              const std::int64_t at_window = i % results;
              const std::int64_t window[3] = {at_window / axes[2].output / axes[1].output,
                                              at_window / axes[2].output % axes[1].output,
                                              at_window % axes[2].output};
              average(plan, from + i / results * image, window, sums, to + i * plan.channels);
            }
          });
    };
  };
}

std::optional<AveragePlan> plan_of(const Lowering& lowering, const Node& node, const Dims& dims) {
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  const auto from = scale8_of(lowering, input(1), input(2), type_of(lowering, input(0)));
  const auto to = scale8_of(lowering, input(3), input(4), type_of(lowering, node.outputs[0]));
  if (!from || !to) return {};
  AveragePlan plan{.from = *from, .to = *to, .grid = {}, .channels = dims[1]};
  const auto spatial = std::span(dims).subspan(2);
  if (node.op == "QLinearGlobalAveragePool") {
    plan.grid.rank = spatial.size();
    for (std::size_t i = 0; i < spatial.size(); ++i) {
      WindowAxis& axis = plan.grid.axes[3 - spatial.size() + i];
      axis.input = axis.kernel = spatial[i];
      axis.output = 1;
    }
    return plan;
  }
  const KernelCall call{node, {}, lowering.graph().opset()};
  plan.grid = kernels::window_grid(call, spatial, kernels::kernel_shape(call, spatial.size()));
  plan.counts_padding = node.int_or("count_include_pad", 0) != 0;
  // With ceil_mode the last windows reach past the padding, which does not count.
  const bool may_exceed = plan.counts_padding && node.int_or("ceil_mode", 0) != 0;
  return may_exceed ? std::nullopt : std::optional(plan);
}

bool lower_quantized_average(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_8_bit(lowering, node.inputs[0]) || !is_8_bit(lowering, node.outputs[0])) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const Dims output = lowering.dims(node.outputs[0]);
  if (dims.size() < 3 || dims.size() > 5 || node.int_or("channels_last", 0) != 0) return false;
  if (checked_product(dims).value_or(0) == 0 || checked_product(output).value_or(0) == 0)
    return false;
  const auto plan = plan_of(lowering, node, dims);
  if (!plan) return false;
  const DataType type = type_of(lowering, node.inputs[0]);
  const Placement source = lowering.in_layout(node.inputs[0], image_desc(dims, 0, type));
  const Placement result =
      lowering.new_placement(image_desc(output, 0, type_of(lowering, node.outputs[0])), output);
  const int threads = source.elements() > (32 << 10) ? lowering.threads() : 1;
  StepDraft draft{.nodes = {id},
                  .algorithm = simd().name,
                  .precision = "int8",
                  .executed_flops = saturating_multiply(result.elements(), window_size(*plan)),
                  .reads = {source},
                  .writes = {result}};
  lowering.add_step(draft, average_binder(*plan, source, result, threads));
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace

void add_quantized_pooling_lowering(LowerTable& table) {
  table["com.microsoft.QLinearGlobalAveragePool"] = lower_quantized_average;
  table["com.microsoft.QLinearAveragePool"] = lower_quantized_average;
}

}  // namespace assay::cpu
