#include "execute/cuda/implicit_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "execute/cuda/library_product.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/tail.h"
#include "execute/cuda/tile_text.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kVectorFloats = 4;  // numbers that are copied at once
constexpr std::int64_t kFloatBytes = 4;
constexpr std::size_t kMostGemms = 3;
constexpr std::int64_t kMostGemmParts = 64;

// A block computes rows · columns sums, a thread thread_rows · thread_columns of them, from `depth`
// numbers of each row and column at a time.
struct GemmTile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t thread_rows = 0;
  std::int64_t thread_columns = 0;
  int stages = 0;         // of copies under way and used
  int blocks = 0;         // on a multiprocessor, which limits registers
  double efficiency = 0;  // about, where there is enough work

  std::int64_t threads() const { return rows / thread_rows * (columns / thread_columns); }
  // Rows in shared memory lie so that threads that read different ones do not wait for each other.
  std::int64_t pitch() const { return depth + kVectorFloats; }
  unsigned shared_bytes() const {
    return static_cast<unsigned>(stages * (rows + columns) * pitch() * kFloatBytes);
  }
};

constexpr std::array<GemmTile, 4> kGemmTiles = {{
    {128, 128, 16, 8, 8, 3, 2, 0.7},
    {128, 64, 16, 8, 8, 3, 2, 0.65},
    {64, 64, 16, 8, 4, 3, 2, 0.5},
    {256, 64, 16, 8, 8, 3, 2, 0.68},
}};

std::int64_t quotient_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct GemmChoice {
  GemmTile tile = {};
  std::int64_t parts = 1;
  double cycles = 0;  // that it should take
};

// A convolution as a product: a row is a pixel of the result.
struct GemmShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};

GemmShape shape_of(const ConvolutionView& view) {
  return {.rows = view.batch * view.pixels(),
          .columns = view.outputs,
          .depth = view.grid.taps() * view.inputs};
}

std::int64_t gemm_tiles(const GemmTile& tile, const GemmShape& product) {
  return quotient_up(product.rows, tile.rows) * quotient_up(product.columns, tile.columns);
}

double gemm_cycles(const GemmTile& tile, std::int64_t parts, const GemmShape& product,
                   std::int64_t multiprocessors) {
  constexpr double kMultiplyAdds = 128;  // of a multiprocessor in a cycle
  constexpr double kStart = 2000;
  constexpr double kLaunch = 3000;
  constexpr double kBytes = 2000;  // of memory, in a cycle
  const std::int64_t turns = quotient_up(gemm_tiles(tile, product) * parts, multiprocessors);
  const std::int64_t depth =
      quotient_up(quotient_up(product.depth, tile.depth), parts) * tile.depth;
  const double multiplying = static_cast<double>(turns * depth * tile.rows * tile.columns) /
                             (kMultiplyAdds * tile.efficiency);
  if (parts == 1) return kStart + multiplying;
  const auto moved = static_cast<double>((2 * parts + 1) * product.rows * product.columns);
  return kStart + multiplying + kLaunch + moved * kFloatBytes / kBytes;
}

GemmChoice best_parts(const GemmTile& tile, const GemmShape& product,
                      std::int64_t multiprocessors) {
  GemmChoice best{.tile = tile, .cycles = std::numeric_limits<double>::max()};
  const std::int64_t most =
      std::clamp<std::int64_t>(product.depth / tile.depth / 4, 1, kMostGemmParts);
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    const double cycles = gemm_cycles(tile, parts, product, multiprocessors);
    if (cycles < best.cycles) best = {.tile = tile, .parts = parts, .cycles = cycles};
  }
  return best;
}

std::vector<GemmChoice> choices_for(const GemmShape& product, const gpu::DeviceFacts& device) {
  std::vector<GemmChoice> choices;
  for (const GemmTile& tile : kGemmTiles)
    if (tile.shared_bytes() <= static_cast<std::uint64_t>(device.shared_bytes_per_block))
      choices.push_back(best_parts(tile, product, device.multiprocessors));
  std::ranges::sort(choices, {}, &GemmChoice::cycles);
  if (choices.size() > kMostGemms) choices.resize(kMostGemms);
  return choices;
}

// --- texts

constexpr const char* kGemmText = R"(
#ifdef ASSAY_EMULATED
__device__ void KERNEL_copy(float* to, const float* from, bool is_there) {{ *to = is_there ? *from : 0; }}
__device__ void KERNEL_commit() {{}}
__device__ void KERNEL_wait() {{}}
#else
__device__ void KERNEL_copy(float* to, const float* from, bool is_there) {{
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 4 : 0) : "memory");
}}
__device__ void KERNEL_commit() {{ asm volatile("cp.async.commit_group;" ::: "memory"); }}
__device__ void KERNEL_wait() {{ asm volatile("cp.async.wait_group {older};" ::: "memory"); }}
#endif
extern "C" __global__ void __launch_bounds__({threads}, {blocks}) KERNEL({parameters}) {{
  constexpr int kRows = {rows}, kColumns = {columns}, kDepth = {depth}, kPitch = {pitch}, kStages = {stages};
  constexpr int kThreads = {threads}, kAcross = {across}, kDown = {down};
  constexpr int kVector = {vector}, kVectors = kDepth / kVector, kLines = kThreads / kVectors;
  constexpr int kRowLoads = (kRows + kLines - 1) / kLines, kColumnLoads = (kColumns + kLines - 1) / kLines;
  DYNAMIC_SHARED(memory);
  float* const tile_a = (float*)memory;
  float* const tile_b = tile_a + kStages * kRows * kPitch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // A warp is 4 threads high and 8 wide.
  const int tx = warp % (kAcross / 8) * 8 + lane % 8, ty = warp / (kAcross / 8) * 4 + lane / 8;
  const int line = threadIdx.x / kVectors, vector = threadIdx.x % kVectors * kVector;
  const int first_row = blockIdx.x * kRows, first_column = blockIdx.y * kColumns;
{advance}  const int first = {part} * {chunks_of_part};
  const int last = first + {chunks_of_part} < {chunks} ? first + {chunks_of_part} : {chunks};
  const float* patch[kRowLoads];
  int start0[kRowLoads], start1[kRowLoads], start2[kRowLoads];
  bool is_row[kRowLoads];
#pragma unroll
  for (int i = 0; i < kRowLoads; ++i) {{
    const int row = first_row + line + i * kLines;
    is_row[i] = row < {all_rows} && line + i * kLines < kRows;
    const int batch = row / {pixels};
{pixel}    start0[i] = out0 * {stride0} - {pad0};
    start1[i] = out1 * {stride1} - {pad1};
    start2[i] = out2 * {stride2} - {pad2};
    patch[i] = given0 + (((long long)(batch * {input0} + start0[i]) * {input1} + start1[i]) * {input2} + start2[i]) * {channels};
  }}
  const auto fetch = [&](int chunk, int stage) {{
    const int k = chunk * kDepth + vector;
    const int channel = k % {channels};
{tap}    const int offset = ((tap0 * {dilation0} * {input1} + tap1 * {dilation1}) * {input2} + tap2 * {dilation2}) * {channels} + channel;
    const bool is_k = {all_depth} % kDepth == 0 || k < {all_depth};
#pragma unroll
    for (int i = 0; i < kRowLoads; ++i) {{
      const int in0 = start0[i] + tap0 * {dilation0}, in1 = start1[i] + tap1 * {dilation1}, in2 = start2[i] + tap2 * {dilation2};
      const bool is_there = is_row[i] && is_k && {inside};
      if (kRows % kLines == 0 || line + i * kLines < kRows)
        {copy}(tile_a + (stage * kRows + line + i * kLines) * kPitch + vector, is_there ? patch[i] + offset : given0, is_there);
    }}
#pragma unroll
    for (int i = 0; i < kColumnLoads; ++i) {{
      const int column = first_column + line + i * kLines;
      const bool is_there = is_k && ({all_columns} % kColumns == 0 || column < {all_columns});
      if (kColumns % kLines == 0 || line + i * kLines < kColumns)
        {copy}(tile_b + (stage * kColumns + line + i * kLines) * kPitch + vector, is_there ? given1 + (long long)column * {all_depth} + k : given1, is_there);
    }}
  }};
  float sums[{thread_rows}][{thread_columns}];
#pragma unroll
  for (int i = 0; i < {thread_rows}; ++i)
#pragma unroll
    for (int j = 0; j < {thread_columns}; ++j) sums[i][j] = 0;
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {{
    if (first + i < last) fetch(first + i, i);
    KERNEL_commit();
  }}
  int stage = 0;
#pragma unroll 1
  for (int chunk = first; chunk < last; ++chunk) {{
    KERNEL_wait();
    __syncthreads();
    if (chunk + kStages - 1 < last) fetch(chunk + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    KERNEL_commit();
    const float* const a_at = tile_a + (stage * kRows + ty) * kPitch;
    const float* const b_at = tile_b + (stage * kColumns + tx) * kPitch;
#pragma unroll
    for (int k = 0; k < kDepth; k += 4) {{
      Group<float, 4> a[{thread_rows}], b[{thread_columns}];
#pragma unroll
      for (int i = 0; i < {thread_rows}; ++i) a[i] = *(const Group<float, 4>*)(a_at + i * kDown * kPitch + k);
#pragma unroll
      for (int j = 0; j < {thread_columns}; ++j) b[j] = *(const Group<float, 4>*)(b_at + j * kAcross * kPitch + k);
#pragma unroll
      for (int d = 0; d < 4; ++d)
#pragma unroll
        for (int i = 0; i < {thread_rows}; ++i)
#pragma unroll
          for (int j = 0; j < {thread_columns}; ++j) sums[i][j] = fmaf(a[i].at[d], b[j].at[d], sums[i][j]);
    }}
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }}
#pragma unroll
  for (int i = 0; i < {thread_rows}; ++i) {{
    const int row = first_row + ty + i * kDown;
    if (row >= {all_rows}) continue;
{store_row}#pragma unroll
    for (int j = 0; j < {thread_columns}; ++j) {{
      const int column = first_column + tx + j * kAcross;
      if ({all_columns} % kColumns != 0 && column >= {all_columns}) continue;
      const float sum = sums[i][j];
{store}    }}
  }}
}}
)";

constexpr const char* kSumText = R"(
extern "C" __global__ void KERNEL({parameters}, const float* __restrict__ parts) {{
  const long long i = blockIdx.x * {threads}ll + threadIdx.x;
  if (i >= {count}) return;
  const int row = (int)(i / {columns}), column = (int)(i % {columns});
  float sum = parts[i];
#pragma unroll 8
  for (int part = 1; part < {parts}; ++part) sum += parts[i + part * {count}ll];
{store_row}{store}}}
)";

// What is done with `sum`, of `row` and `column`.
struct StoreTexts {
  std::string parameters = "";
  std::string row = "";
  std::string element = "";
};

StoreTexts store_texts(Operands& operands, const ConvolutionView& view,
                       const std::optional<Placement>& bias, const Epilogue& epilogue) {
  const auto at = image_coordinates(view.grid, "batch", "column", "out");
  const std::string sum = bias ? "sum + " + operands.element(*bias, at) : "sum";
  return {.parameters = operands.parameters() + epilogue.parameters(),
          .row = fmt::format("    const int batch = row / {};\n", view.pixels()) +
                 pixels_text(view.grid, fmt::format("(row % {})", view.pixels())),
          .element = epilogue.statements(sum, at)};
}

StoreTexts parts_texts(const GemmShape& product) {
  return {.parameters =
              "const float* __restrict__ given0, const float* __restrict__ given1, "
              "float* __restrict__ parts",
          .row = fmt::format("    float* const out = parts + ((long long)blockIdx.z * {} + row) * "
                             "{};\n",
                             product.rows, product.columns),
          .element = "      out[column] = sum;\n"};
}

// What blockIdx.z counts: parts of the depth or, with `advance`, which goes to the next operands,
// products.
KernelText gemm_kernel(const ConvolutionView& view, const GemmChoice& choice,
                       const StoreTexts& store, const std::string& advance = "") {
  const GemmTile& tile = choice.tile;
  const GemmShape product = shape_of(view);
  const bool has_vectors = view.inputs % kVectorFloats == 0;
  const std::int64_t chunks = quotient_up(product.depth, tile.depth);
  const auto& [axis0, axis1, axis2] = view.grid.axes;
  const std::string text = fmt::format(
      kGemmText, fmt::arg("advance", advance),
      fmt::arg("part", advance.empty() ? "blockIdx.z" : "0"),
      fmt::arg("parameters", store.parameters), fmt::arg("threads", tile.threads()),
      fmt::arg("blocks", tile.blocks), fmt::arg("older", tile.stages - 2),
      fmt::arg("rows", tile.rows), fmt::arg("columns", tile.columns), fmt::arg("depth", tile.depth),
      fmt::arg("pitch", tile.pitch()), fmt::arg("stages", tile.stages),
      fmt::arg("across", tile.columns / tile.thread_columns),
      fmt::arg("down", tile.rows / tile.thread_rows),
      fmt::arg("vector", has_vectors ? kVectorFloats : 1),
      fmt::arg("copy", has_vectors ? "copy_16_bytes" : "KERNEL_copy"), fmt::arg("chunks", chunks),
      fmt::arg("chunks_of_part", advance.empty() ? quotient_up(chunks, choice.parts) : chunks),
      fmt::arg("all_rows", product.rows), fmt::arg("all_columns", product.columns),
      fmt::arg("all_depth", product.depth), fmt::arg("pixels", view.pixels()),
      fmt::arg("pixel", pixels_text(view.grid, fmt::format("(row % {})", view.pixels()))),
      fmt::arg("tap", taps_text(view.grid, fmt::format("(k / {})", view.inputs))),
      fmt::arg("inside", inside_text(view.grid)), fmt::arg("channels", view.inputs),
      fmt::arg("stride0", axis0.stride), fmt::arg("stride1", axis1.stride),
      fmt::arg("stride2", axis2.stride), fmt::arg("pad0", axis0.pad_begin),
      fmt::arg("pad1", axis1.pad_begin), fmt::arg("pad2", axis2.pad_begin),
      fmt::arg("dilation0", axis0.dilation), fmt::arg("dilation1", axis1.dilation),
      fmt::arg("dilation2", axis2.dilation), fmt::arg("input0", axis0.input),
      fmt::arg("input1", axis1.input), fmt::arg("input2", axis2.input),
      fmt::arg("thread_rows", tile.thread_rows), fmt::arg("thread_columns", tile.thread_columns),
      fmt::arg("store_row", store.row), fmt::arg("store", store.element));
  const auto count = [](std::int64_t number) { return static_cast<unsigned>(number); };
  return {text,
          {.blocks = {count(quotient_up(product.rows, tile.rows)),
                      count(quotient_up(product.columns, tile.columns)), count(choice.parts)},
           .threads = count(tile.threads()),
           .shared_bytes = tile.shared_bytes()}};
}

KernelText sum_kernel(const GemmShape& product, std::int64_t parts, const StoreTexts& store) {
  const std::int64_t count = product.rows * product.columns;
  return {fmt::format(kSumText, fmt::arg("parameters", store.parameters),
                      fmt::arg("threads", kBlockThreads), fmt::arg("count", count),
                      fmt::arg("columns", product.columns), fmt::arg("parts", parts),
                      fmt::arg("store_row", store.row), fmt::arg("store", store.element)),
          launch_for(count)};
}

// --- candidates

std::string name_of(const GemmChoice& choice) {
  const std::string name =
      fmt::format("own implicit gemm {}x{}", choice.tile.rows, choice.tile.columns);
  return choice.parts == 1 ? name : fmt::format("{} in {} parts", name, choice.parts);
}

// The product in parts, and the kernel that adds them up.
Candidate split_candidate(Lowering& lowering, const ConvolutionView& view, const GemmChoice& choice,
                          const StoreTexts& store, const StepDraft& draft) {
  const GemmShape product = shape_of(view);
  const KernelText gemm = gemm_kernel(view, choice, parts_texts(product));
  const KernelText sum = sum_kernel(product, choice.parts, store);
  auto calls = std::make_shared<std::array<KernelCall, 2>>();
  (*calls)[0] = {.shape = gemm.shape, .arguments = {draft.reads[0], draft.reads[1]}};
  (*calls)[1] = {.shape = sum.shape, .arguments = draft.reads};
  (*calls)[1].arguments.insert((*calls)[1].arguments.end(), draft.writes.begin(),
                               draft.writes.end());
  const std::int64_t bytes = choice.parts * product.rows * product.columns * kFloatBytes;
  return {.name = name_of(choice),
          .key = name_of(choice),
          .add_kernels =
              [&lowering, calls, gemm, sum] {
                (*calls)[0].kernel = lowering.kernels().add(gemm.text, true);
                (*calls)[1].kernel = lowering.kernels().add(sum.text);
              },
          .prepare =
              [&lowering, calls, bytes] {
                const BufferId parts = lowering.new_buffer(bytes);
                std::vector<KernelCall> both(calls->begin(), calls->end());
                for (KernelCall& call : both)
                  call.arguments.push_back({.buffer = parts, .dims = {}, .strides = {}});
                return Prepared{.bind = binder_of(both), .workspace = {parts}};
              }};
}

bool lies_plainly(const Placement& placement) {
  const Dims strides = channels_last_placement(placement.type, placement.dims).strides;
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    if (placement.dims[axis] > 1 && placement.strides[axis] != strides[axis]) return false;
  return placement.type == DataType::Float32 && alignment_of(placement, 16) == 16;
}

bool suits_gemm(const Lowering& lowering, const ConvolutionView& view) {
  constexpr std::int64_t kFewChannels = 16;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  const GemmShape product = shape_of(view);
  return !view.is_transposed && view.groups == 1 && view.outputs >= kFewChannels &&
         product.depth >= kFewChannels && !lowering.options().cuda.tf32 &&
         lowering.device().facts().compute_capability >= kFirstCapabilityOfTiles &&
         lies_for_gemm(view) && product.rows < kMost && product.depth < kMost &&
         view.grid.input_elements() < kMost;
}

}  // namespace

bool lies_for_gemm(const ConvolutionView& view) {
  return lies_plainly(view.image) && lies_plainly(view.weight);
}

KernelText float_products(const FloatProducts& products, const gpu::DeviceFacts& device) {
  ConvolutionView rows;  // windows of one element
  rows.batch = products.rows;
  rows.inputs = products.depth;
  rows.outputs = products.columns;
  const GemmShape product = shape_of(rows);
  GemmChoice best{.cycles = std::numeric_limits<double>::max()};
  for (const GemmTile& tile : kGemmTiles) {
    const std::int64_t turns =
        quotient_up(gemm_tiles(tile, product) * products.count, device.multiprocessors);
    const double cycles = static_cast<double>(turns * tile.rows * tile.columns) / tile.efficiency;
    if (cycles < best.cycles) best = {.tile = tile, .parts = products.count, .cycles = cycles};
  }
  const std::string advance =
      fmt::format("  given0 += blockIdx.z * {}ll;\n  given1 += blockIdx.z * {}ll;\n",
                  products.rows * products.depth, products.columns * products.depth);
  return gemm_kernel(rows, best, parts_texts(product), advance);
}

std::vector<Candidate> implicit_gemm_candidates(Lowering& lowering, const ConvolutionView& view,
                                                const std::optional<Placement>& bias,
                                                const Epilogue& epilogue, const StepDraft& draft) {
  if (!suits_gemm(lowering, view)) return {};
  Operands operands(lowering);
  operands.pointer(view.image);
  operands.pointer(view.weight);
  if (operands.reads().size() != 2) return {};
  const StoreTexts store = store_texts(operands, view, bias, epilogue);
  std::vector<Candidate> candidates;
  for (const GemmChoice& choice : choices_for(shape_of(view), lowering.device().facts())) {
    if (choice.parts > 1) {
      candidates.push_back(split_candidate(lowering, view, choice, store, draft));
      continue;
    }
    const KernelText kernel = gemm_kernel(view, choice, store);
    candidates.push_back(own_candidate(lowering, name_of(choice).c_str(), kernel, true, draft));
    candidates.back().key = candidates.back().name;
  }
  return candidates;
}

}  // namespace assay::cuda
