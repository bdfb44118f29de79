#include "execute/cuda/warp_norm.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kLongestRow = 1024;

constexpr const char* kWarpNorm = R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameters}) {{
  constexpr int WIDTH = {width}, GROUP = {group}, HELD = {held};
  const int lane = threadIdx.x % 32;
  const long long row = blockIdx.x * {warps}ll + threadIdx.x / 32;
  if (row >= {count}) return;
{coordinates}  float held[HELD][GROUP];
  float mean = 0;
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    const int first = (n * 32 + lane) * GROUP;
    Group<{stored}, GROUP> group = {{}};
    if (first < WIDTH) group = *(const Group<{stored}, GROUP>*)(in + {x_at});
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {{
      held[n][j] = {loaded};
      mean += held[n][j];
    }}
  }}
  mean = together<Plus, 32>(mean) / WIDTH;
  float square = 0;
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    if ((n * 32 + lane) * GROUP >= WIDTH) continue;
#pragma unroll
    for (int j = 0; j < GROUP; ++j) square += (held[n][j] - mean) * (held[n][j] - mean);
  }}
  const float scaled_by = 1.0f / sqrtf(together<Plus, 32>(square) / WIDTH + {epsilon});
#pragma unroll
  for (int n = 0; n < HELD; ++n) {{
    const int first = (n * 32 + lane) * GROUP;
    if (first >= WIDTH) continue;
{vectors}    Group<{result_stored}, GROUP> results;
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {{
      const int i{axis} = first + j;
{computing}      results.at[j] = {result};
    }}
    *(Group<{result_stored}, GROUP>*)(out + {result_at}) = results;
  }}
}}
)";

bool is_computed_as_float(const Placement& placement) {
  return is_floating(placement.type) && computed_type(placement.type) == "float";
}

// A step reads `x`, then one or two vectors of this type along the last axis.
struct WarpNorm {
  std::vector<Placement> reads;
  std::int64_t group = 0;
};

std::optional<WarpNorm> warp_norm_of(Lowering& lowering, const Node& node, const Rows& rows,
                                     const Placement& result) {
  const Placement x = lowering.native(node.inputs[0]);
  if (rows.reduced.size() != 1 || rows.width > kLongestRow) return {};
  WarpNorm norm{.reads = {x}, .group = 128 / std::max(bits(x.type), bits(result.type))};
  norm.reads.push_back(broadcast(lowering.native(node.inputs[1]), x.dims));
  if (node.has_input(2)) norm.reads.push_back(broadcast(lowering.native(node.inputs[2]), x.dims));
  if (rows.width % norm.group != 0 || !lies_in_groups(result, result.dims.size() - 1, norm.group))
    return {};
  for (const Placement& read : norm.reads)
    if (!is_computed_as_float(read) || !lies_in_groups(read, read.dims.size() - 1, norm.group))
      return {};
  return norm;
}

// Statements that read the vectors, and what they make of a number that is normalised.
struct ScaleAndShift {
  std::string reading;
  std::string number = "(held[n][j] - mean) * scaled_by";
};

ScaleAndShift scale_and_shift(const WarpNorm& norm, std::span<const std::string> first) {
  ScaleAndShift text;
  const char* names[] = {"in", "scale", "shift"};
  for (std::size_t i = 1; i < norm.reads.size(); ++i) {
    const Placement& vector = norm.reads[i];
    const std::string type = fmt::format("Group<{}, GROUP>", stored_type(vector.type));
    text.reading += fmt::format("    const {0} {1}s = *(const {0}*)({1} + {2});\n", type, names[i],
                                offset_text(vector, first));
    text.number +=
        (i == 1 ? " * " : " + ") + loaded(vector.type, fmt::format("{}s.at[j]", names[i]));
  }
  return text;
}

std::string norm_parameters(const WarpNorm& norm, const Epilogue& epilogue) {
  std::string text = parameter_text(norm.reads[0], "in") + parameter_text(norm.reads[1], "scale");
  if (norm.reads.size() > 2) text += parameter_text(norm.reads[2], "shift");
  return text + epilogue.parameters();
}

// One warp a block, so that all multiprocessors have some, until there are many rows.
std::int64_t warps_for(const Rows& rows, const gpu::DeviceFacts& device) {
  return rows.count > 8 * device.multiprocessors ? 4 : 1;
}

}  // namespace

bool add_warp_norm(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue) {
  const Node& node = lowering.node(id);
  const auto norm = warp_norm_of(lowering, node, rows, epilogue.result);
  if (!norm) return false;
  const Placement& x = norm->reads.front();
  auto at = index_names(x.dims);
  const ScaleAndShift ends = [&] {
    auto first = at;
    first.back() = "first";
    return scale_and_shift(*norm, first);
  }();
  const std::string computing = epilogue.computing(ends.number, at);
  at.back() = "first";
  const std::int64_t warps = warps_for(rows, lowering.device().facts());
  const std::int64_t of_a_warp = 32 * norm->group;
  const std::string text = fmt::format(
      kWarpNorm, fmt::arg("threads", 32 * warps), fmt::arg("warps", warps),
      fmt::arg("parameters", norm_parameters(*norm, epilogue)), fmt::arg("width", rows.width),
      fmt::arg("group", norm->group), fmt::arg("held", (rows.width + of_a_warp - 1) / of_a_warp),
      fmt::arg("count", rows.count), fmt::arg("coordinates", row_text(rows, "row")),
      fmt::arg("stored", stored_type(x.type)), fmt::arg("x_at", offset_text(x, at)),
      fmt::arg("loaded", loaded(x.type, "group.at[j]")),
      fmt::arg("epsilon", number_text(node.float_or("epsilon", 1e-5f), "float")),
      fmt::arg("vectors", ends.reading), fmt::arg("axis", rows.reduced.front()),
      fmt::arg("result_stored", stored_type(epilogue.result.type)),
      fmt::arg("computing", computing), fmt::arg("result", epilogue.stored_result()),
      fmt::arg("result_at", offset_text(epilogue.result, at)));
  StepDraft draft = draft_with(epilogue, id, norm->reads, rows.count * rows.width * kNormFlops);
  draft.algorithm = "own warps";
  lowering.add_kernel_step(
      draft, lowering.kernels().add(text, true),
      {.blocks = {static_cast<unsigned>((rows.count + warps - 1) / warps), 1, 1},
       .threads = static_cast<unsigned>(32 * warps)});
  return true;
}

}  // namespace assay::cuda
