#include "execute/cuda/warp_softmax.h"

#include <fmt/core.h>

#include <cmath>

#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kLongestSoftmax = 1024;
constexpr std::int64_t kSoftmaxWarps = 4;  // of a block
constexpr std::int64_t kSoftmaxFlops = 5;  // of an element

constexpr const char* kWarpSoftmax = R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameters}) {{
  constexpr int WIDTH = {width}, HELD = {held};
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * {warps}ll + threadIdx.x / 32;
  if (row >= {count}) return;
{coordinates}  float held[HELD];
  float largest = {lowest};
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    const int i{axis} = n * 32 + lane;
    held[n] = {lowest};
    if (i{axis} < WIDTH) held[n] = {element};
    largest = larger(largest, held[n]);
  }}
  largest = together<Larger, 32>(largest);
  float sum = 0;
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    if (n * 32 + lane >= WIDTH) continue;
    const float power = exp(held[n] - largest);
    sum += power;
    held[n] = {kept};
  }}
  sum = together<Plus, 32>(sum);
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    const int i{axis} = n * 32 + lane;
    if (i{axis} >= WIDTH) continue;
{store}  }}
}}
)";

bool fits(const Rows& rows, const Placement& x, const gpu::DeviceFacts& device) {
  return rows.reduced.size() == 1 && rows.width <= kLongestSoftmax &&
         rows.count >= 2 * device.multiprocessors && computed_type(x.type) == "float" &&
         x.strides[rows.reduced.front()] == 1;
}

}  // namespace

bool add_warp_softmax(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  if (!fits(rows, x, lowering.device().facts())) return false;
  const bool is_logarithm = node.is("LogSoftmax");
  const auto at = index_names(x.dims);
  const std::string text = fmt::format(
      kWarpSoftmax, fmt::arg("threads", 32 * kSoftmaxWarps), fmt::arg("warps", kSoftmaxWarps),
      fmt::arg("parameters", parameter_text(x, "in") + epilogue.parameters()),
      fmt::arg("width", rows.width), fmt::arg("held", (rows.width + 31) / 32),
      fmt::arg("count", rows.count), fmt::arg("coordinates", row_text(rows, "row")),
      fmt::arg("lowest", number_text(-INFINITY, "float")), fmt::arg("axis", rows.reduced.front()),
      fmt::arg("element", element_text(x, "in", at)),
      fmt::arg("kept", is_logarithm ? "held[n] - largest" : "power"),
      fmt::arg("store",
               epilogue.statements(is_logarithm ? "held[n] - log(sum)" : "held[n] / sum", at)));
  StepDraft draft = draft_with(epilogue, id, {x}, rows.count * rows.width * kSoftmaxFlops);
  draft.algorithm = "own warps";
  lowering.add_kernel_step(
      draft, lowering.kernels().add(text, true),
      {.blocks = {static_cast<unsigned>((rows.count + kSoftmaxWarps - 1) / kSoftmaxWarps), 1, 1},
       .threads = static_cast<unsigned>(32 * kSoftmaxWarps)});
  return true;
}

}  // namespace assay::cuda
