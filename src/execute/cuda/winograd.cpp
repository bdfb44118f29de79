#include "execute/cuda/winograd.h"

#include <fmt/core.h>

#include <limits>
#include <memory>

#include "execute/cuda/convolution_algorithm.h"
#include "execute/cuda/implicit_gemm.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/tile_text.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kWinogradTile = 4;   // results along an axis
constexpr std::int64_t kTileProducts = 36;  // of a tile: 6 · 6
constexpr std::int64_t kBytesOfFloat = 4;

// The matrices of the three kernels' transforms are those of Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015, applied along one axis, then along the other.
constexpr const char* kFilterText = R"(
extern "C" __global__ void KERNEL(const float* __restrict__ weight, float* __restrict__ out) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const float* const from = weight + i / {channels} * {filter} + i % {channels};
  const auto turn = [](float g0, float g1, float g2, float* u, int step) {{
    const float even = g0 + g2, far = g0 * (1.0f / 24) + g2 * (1.0f / 6);
    u[0] = g0 * 0.25f;
    u[step] = (even + g1) * (-1.0f / 6);
    u[2 * step] = (even - g1) * (-1.0f / 6);
    u[3 * step] = far + g1 * (1.0f / 12);
    u[4 * step] = far - g1 * (1.0f / 12);
    u[5 * step] = g2;
  }};
  float down[18], all[36];
#pragma unroll
  for (int x = 0; x < 3; ++x)
    turn(from[x * {channels}], from[(3 + x) * {channels}], from[(6 + x) * {channels}], down + x, 3);
#pragma unroll
  for (int y = 0; y < 6; ++y) turn(down[3 * y], down[3 * y + 1], down[3 * y + 2], all + 6 * y, 1);
#pragma unroll
  for (int e = 0; e < 36; ++e) out[e * {count}ll + i] = all[e];
}}
)";

constexpr const char* kImageText = R"(
extern "C" __global__ void KERNEL(const float* __restrict__ image, float* __restrict__ out) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int channel = (int)(i % {channels}), tile = (int)(i / {channels});
  const int y0 = tile / {tiles_across} % {tiles_down} * 4 - {pad1}, x0 = tile % {tiles_across} * 4 - {pad2};
  const float* const from = image + (((long long)(tile / {tiles}) * {input1} + y0) * {input2} + x0) * {channels} + channel;
  const auto turn = [](const float* d, int step, float* t) {{
    const float d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    const float a = d4 - 4 * d2, b = d3 - 4 * d1, c = d4 - d2, e = 2 * (d3 - d1);
    t[0] = 4 * d0 - 5 * d2 + d4;
    t[step] = a + b;
    t[2 * step] = a - b;
    t[3 * step] = c + e;
    t[4 * step] = c - e;
    t[5 * step] = 4 * d1 - 5 * d3 + d5;
  }};
  float all[36];
#pragma unroll
  for (int y = 0; y < 6; ++y)
#pragma unroll
    for (int x = 0; x < 6; ++x) {{
      const bool is_there = y0 + y >= 0 && y0 + y < {input1} && x0 + x >= 0 && x0 + x < {input2};
      all[6 * y + x] = is_there ? from[(y * {input2} + x) * {channels}] : 0.0f;
    }}
#pragma unroll
  for (int x = 0; x < 6; ++x) turn(all + x, 6, all + x);
#pragma unroll
  for (int y = 0; y < 6; ++y) turn(all + 6 * y, 1, all + 6 * y);
#pragma unroll
  for (int e = 0; e < 36; ++e) out[e * {count}ll + i] = all[e];
}}
)";

constexpr const char* kResultText = R"(
extern "C" __global__ void KERNEL({parameters}, const float* __restrict__ products) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int column = (int)(i % {filters}), tile = (int)(i / {filters});
  const int batch = tile / {tiles}, y0 = tile / {tiles_across} % {tiles_down} * 4, x0 = tile % {tiles_across} * 4;
  const auto turn = [](const float* m, int step, float* y, int to) {{
    const float a = m[step] + m[2 * step], b = m[step] - m[2 * step];
    const float c = m[3 * step] + m[4 * step], d = m[3 * step] - m[4 * step];
    y[0] = m[0] + a + c;
    y[to] = b + 2 * d;
    y[2 * to] = a + 4 * c;
    y[3 * to] = b + 8 * d + m[5 * step];
  }};
  float all[36], down[24], results[16];
#pragma unroll
  for (int e = 0; e < 36; ++e) all[e] = products[e * {count}ll + i];
#pragma unroll
  for (int x = 0; x < 6; ++x) turn(all + x, 6, down + x, 6);
#pragma unroll
  for (int y = 0; y < 4; ++y) turn(down + 6 * y, 1, results + 4 * y, 1);
#pragma unroll
  for (int e = 0; e < 16; ++e) {{
    const int out1 = y0 + e / 4, out2 = x0 + e % 4;
    if (out1 >= {output1} || out2 >= {output2}) continue;
    const float sum = results[e];
{store}  }}
}}
)";

struct TileCounts {
  std::int64_t tiles_down = 0;
  std::int64_t tiles_across = 0;
  std::int64_t all_tiles = 0;  // of all images
};

TileCounts counts_of(const ConvolutionView& view) {
  const auto tiles = [](std::int64_t results) {
    return (results + kWinogradTile - 1) / kWinogradTile;
  };
  TileCounts sizes{.tiles_down = tiles(view.grid.axes[1].output),
                   .tiles_across = tiles(view.grid.axes[2].output)};
  sizes.all_tiles = view.batch * sizes.tiles_down * sizes.tiles_across;
  return sizes;
}

KernelText filter_kernel(const ConvolutionView& view) {
  const std::int64_t count = view.outputs * view.inputs;
  return {fmt::format(kFilterText, fmt::arg("threads", kBlockThreads), fmt::arg("count", count),
                      fmt::arg("channels", view.inputs), fmt::arg("filter", 9 * view.inputs)),
          launch_for(count)};
}

KernelText image_kernel(const ConvolutionView& view) {
  const TileCounts sizes = counts_of(view);
  const std::int64_t count = sizes.all_tiles * view.inputs;
  const auto& [depth, height, width] = view.grid.axes;
  return {
      fmt::format(kImageText, fmt::arg("threads", kBlockThreads), fmt::arg("count", count),
                  fmt::arg("channels", view.inputs), fmt::arg("tiles_across", sizes.tiles_across),
                  fmt::arg("tiles_down", sizes.tiles_down),
                  fmt::arg("tiles", sizes.tiles_down * sizes.tiles_across),
                  fmt::arg("pad1", height.pad_begin), fmt::arg("pad2", width.pad_begin),
                  fmt::arg("input1", height.input), fmt::arg("input2", width.input)),
      launch_for(count)};
}

KernelText result_kernel(const ConvolutionView& view, const std::string& parameters,
                         const std::string& store) {
  const TileCounts sizes = counts_of(view);
  const std::int64_t count = sizes.all_tiles * view.outputs;
  return {
      fmt::format(kResultText, fmt::arg("parameters", parameters),
                  fmt::arg("threads", kBlockThreads), fmt::arg("count", count),
                  fmt::arg("filters", view.outputs), fmt::arg("tiles_across", sizes.tiles_across),
                  fmt::arg("tiles_down", sizes.tiles_down),
                  fmt::arg("tiles", sizes.tiles_down * sizes.tiles_across),
                  fmt::arg("output1", view.grid.axes[1].output),
                  fmt::arg("output2", view.grid.axes[2].output), fmt::arg("store", store)),
      launch_for(count)};
}

// The kernels in turn, and what lies between them.
struct WinogradStages {
  KernelText filter = {};
  KernelText image = {};
  KernelText products = {};
  KernelText result = {};
  std::int64_t filter_bytes = 0;
  std::int64_t image_bytes = 0;
  std::int64_t result_bytes = 0;
};

WinogradStages stages_of(const Lowering& lowering, const ConvolutionView& view,
                         const std::string& parameters, const std::string& store) {
  const std::int64_t tiles = counts_of(view).all_tiles;
  return {
      .filter = filter_kernel(view),
      .image = image_kernel(view),
      .products = float_products(
          {.count = kTileProducts, .rows = tiles, .columns = view.outputs, .depth = view.inputs},
          lowering.device().facts()),
      .result = result_kernel(view, parameters, store),
      .filter_bytes = kTileProducts * view.outputs * view.inputs * kBytesOfFloat,
      .image_bytes = kTileProducts * tiles * view.inputs * kBytesOfFloat,
      .result_bytes = kTileProducts * tiles * view.outputs * kBytesOfFloat};
}

Placement whole_buffer(BufferId buffer) {
  return {.buffer = buffer, .dims = {}, .strides = {}};
}

Prepared prepared(Lowering& lowering, const WinogradStages& stages,
                  const std::vector<KernelId>& kernels, const StepDraft& draft) {
  const BufferId filter = lowering.new_buffer(stages.filter_bytes);
  const BufferId image = lowering.new_buffer(stages.image_bytes);
  const BufferId result = lowering.new_buffer(stages.result_bytes);
  std::vector<KernelCall> calls = {
      {kernels[0], stages.filter.shape, {draft.reads[1], whole_buffer(filter)}},
      {kernels[1], stages.image.shape, {draft.reads[0], whole_buffer(image)}},
      {kernels[2],
       stages.products.shape,
       {whole_buffer(image), whole_buffer(filter), whole_buffer(result)}},
      {kernels[3], stages.result.shape, draft.reads}};
  std::vector<Placement>& last = calls.back().arguments;
  last.insert(last.end(), draft.writes.begin(), draft.writes.end());
  last.push_back(whole_buffer(result));
  return {.bind = binder_of(calls), .workspace = {filter, image, result}};
}

bool suits_winograd(const Lowering& lowering, const ConvolutionView& view) {
  constexpr std::int64_t kFewChannels = 16;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  const auto is_fitting = [](const kernels::WindowAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return !view.is_transposed && view.groups == 1 && view.grid.rank == 2 &&
         is_fitting(view.grid.axes[1]) && is_fitting(view.grid.axes[2]) && view.inputs % 4 == 0 &&
         view.inputs >= kFewChannels && view.outputs >= kFewChannels &&
         !lowering.options().cuda.tf32 && lies_for_gemm(view) &&
         lowering.device().facts().compute_capability >= kFirstCapabilityOfTiles &&
         view.batch * view.grid.input_elements() < kMost;
}

}  // namespace

std::vector<Candidate> winograd_candidates(Lowering& lowering, const ConvolutionView& view,
                                           const std::optional<Placement>& bias,
                                           const Epilogue& epilogue, const StepDraft& draft) {
  if (!suits_winograd(lowering, view)) return {};
  Operands operands(lowering);
  operands.pointer(view.image);
  operands.pointer(view.weight);
  const auto at = image_coordinates(view.grid, "batch", "column", "out");
  const std::string sum = bias ? "sum + " + operands.element(*bias, at) : "sum";
  const std::string parameters = operands.parameters() + epilogue.parameters();
  const WinogradStages stages = stages_of(lowering, view, parameters, epilogue.statements(sum, at));
  const ConvolutionSizes sizes{.grid = view.grid,
                               .batch = view.batch,
                               .channels_of_group = view.inputs,
                               .filters = view.outputs};
  const ConvolutionAlgorithm algorithm = winograd_algorithm(kWinogradTile);
  const std::string name = "own " + algorithm.name;
  auto kernels = std::make_shared<std::vector<KernelId>>();
  Candidate candidate{
      .name = name,
      .key = name,
      .add_kernels =
          [&lowering, stages, kernels] {
            *kernels = {lowering.kernels().add(stages.filter.text),
                        lowering.kernels().add(stages.image.text),
                        lowering.kernels().add(stages.products.text, true),
                        lowering.kernels().add(stages.result.text)};
          },
      .prepare = [&lowering, stages, kernels,
                  draft] { return prepared(lowering, stages, *kernels, draft); },
      .describe = [flops = executed_flops(algorithm, sizes).value_or(0) - direct_flops(sizes)](
                      StepInfo& step,
                      std::span<const std::string>) { step.executed_flops += flops; }};
  return {std::move(candidate)};
}

}  // namespace assay::cuda
