#include "execute/cuda/byte_tiles.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kTileDepth = 64;  // numbers of a row in a tile
constexpr std::int64_t kTilePitch = 80;  // bytes, so that neighbouring rows lie in other banks
constexpr std::int64_t kTileStages = 3;  // tiles in flight

// Copies of the next tiles run beside the products. Sums go through shared memory, so that
// neighbouring results are stored at once; where several blocks share a sum, the last of them adds
// what all have.
constexpr const char* kByteTilesText = R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameters}) {{
  constexpr int ROWS = {rows}, COLUMNS = {columns}, DEPTH = {depth}, GROUP = {group};
  constexpr int M_TILE = {m_tile}, N_TILE = {n_tile}, K_TILE = 64, PITCH = 80, STAGES = 3, THREADS = {threads};
  constexpr int WARPS_N = {warps_n}, M_WARP = {m_warp}, N_WARP = {n_warp};
  constexpr int M_PARTS = M_WARP / 16, N_PARTS = N_WARP / 8, STAGE = (M_TILE + N_TILE) * PITCH;
  constexpr int STEPS = (DEPTH + K_TILE - 1) / K_TILE, SPLITS = {splits}, OF_A_SPLIT = (STEPS + SPLITS - 1) / SPLITS;
  constexpr int GROUPS = K_TILE / GROUP, SUM_PITCH = N_TILE + 4;
  struct Line {{ long long base; int y, x; }};
  DYNAMIC_SHARED(shared);
  signed char* tiles = (signed char*)shared;
  int* tile_sums = (int*)shared;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = blockIdx.x * M_TILE, first_column = blockIdx.y * N_TILE;
  const int begin = blockIdx.z * OF_A_SPLIT, end = min(begin + OF_A_SPLIT, STEPS);
  const int fill_number = {fill};
  const unsigned fill = (unsigned)(fill_number & 255) * 0x01010101u;
  const auto locate = [&](int all_row) -> Line {{
    Line line = {{-1, 0, 0}};
    if (all_row < ROWS) {{
{locate}    }}
    return line;
  }};
  const auto find = [&](const Line& line, int k, long long& offset) -> bool {{
    if (line.base < 0 || k >= DEPTH) return false;
{find}    return true;
  }};
{fetching}  int sums[M_PARTS][N_PARTS][4] = {{}};
  const int m_first = warp / WARPS_N * M_WARP, n_first = warp % WARPS_N * N_WARP;
  for (int stage = 0; stage < STAGES - 1; ++stage) {{
    if (begin + stage < end) fetch(begin + stage, tiles + stage * STAGE);
    commit_copies();
  }}
  for (int step = begin; step < end; ++step) {{
    wait_for_copies_but<STAGES - 2>();
    __syncthreads();
    const int next = step + STAGES - 1;
    if (next < end) fetch(next, tiles + (next - begin) % STAGES * STAGE);
    commit_copies();
    const signed char* tile_a = tiles + (step - begin) % STAGES * STAGE;
    const signed char* tile_b = tile_a + M_TILE * PITCH;
#pragma unroll
    for (int k = 0; k < K_TILE; k += 32) {{
      unsigned of_a[M_PARTS][4], of_b[N_PARTS / 2][4];
#pragma unroll
      for (int m = 0; m < M_PARTS; ++m)
        load_fragments<false>(of_a[m], tile_a + (m_first + m * 16 + lane % 16) * PITCH + k + lane / 16 * 16);
#pragma unroll
      for (int n = 0; n < N_PARTS / 2; ++n)
        load_fragments<false>(of_b[n], tile_b + (n_first + n * 16 + lane % 8 + lane / 16 * 8) * PITCH + k + lane / 8 % 2 * 16);
#pragma unroll
      for (int m = 0; m < M_PARTS; ++m)
#pragma unroll
        for (int n = 0; n < N_PARTS; ++n)
          multiply_bytes<{a_stored}, {b_stored}>(sums[m][n], of_a[m], of_b[n / 2][n % 2 * 2], of_b[n / 2][n % 2 * 2 + 1]);
    }}
  }}
  wait_for_copies_but<0>();
  __syncthreads();
  for (int m = 0; m < M_PARTS; ++m)
    for (int n = 0; n < N_PARTS; ++n)
      for (int i = 0; i < 4; ++i)
        tile_sums[(m_first + m * 16 + lane / 4 + i / 2 * 8) * SUM_PITCH + n_first + n * 8 + lane % 4 * 2 + i % 2] = sums[m][n][i];
  __syncthreads();
{joining}  constexpr int TOGETHER = {together};
  for (int e = threadIdx.x; e < M_TILE * N_TILE / TOGETHER; e += THREADS) {{
    const int line = e / (N_TILE / TOGETHER), first = e % (N_TILE / TOGETHER) * TOGETHER;
    const int all_row = first_row + line;
    if (all_row >= ROWS || first_column + first >= COLUMNS) continue;
{coordinates}    Group<{result_stored}, TOGETHER> results;
#pragma unroll
    for (int j = 0; j < TOGETHER; ++j) {{
      const int column = first_column + first + j;
      const int sum_of_numbers = tile_sums[line * SUM_PITCH + first + j];
{computing}      results.at[j] = {result};
    }}
    const int column = first_column + first;
    *(Group<{result_stored}, TOGETHER>*)(out + {place}) = results;
  }}
}}
)";

// A thread copies the same numbers of every so many lines.
constexpr const char* kFetchBytes =
    R"(  constexpr int LINES = THREADS / GROUPS, LOADS = M_TILE / LINES;
  const int own_line = threadIdx.x / GROUPS, at = threadIdx.x % GROUPS * GROUP;
  Line lines[LOADS];
#pragma unroll
  for (int i = 0; i < LOADS; ++i) lines[i] = locate(first_row + own_line + i * LINES);
  const auto fetch = [&](int step, signed char* stage) {{
    const int k = step * K_TILE + at;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {{
      signed char* goal = stage + (own_line + i * LINES) * PITCH + at;
      long long offset = 0;
      if (find(lines[i], k, offset)) {{
        copy_bytes<GROUP>(goal, (const signed char*){a} + offset);
      }} else {{
        for (int j = 0; j < GROUP / 4; ++j) ((unsigned*)goal)[j] = fill;
      }}
    }}
#pragma unroll
    for (int i = 0; i < N_TILE / LINES; ++i) {{
      const int n = own_line + i * LINES;
      signed char* goal = stage + (M_TILE + n) * PITCH + at;
      if (first_column + n < COLUMNS && k < DEPTH) {{
        copy_bytes<GROUP>(goal, (const signed char*){b} + (first_column + n) * {column_stride}ll + k);
      }} else {{
        for (int j = 0; j < GROUP / 4; ++j) ((unsigned*)goal)[j] = 0;
      }}
    }}
  }};
)";

// Numbers one by one.
constexpr const char* kFetchSingleBytes =
    R"(  const auto fetch = [&](int step, signed char* stage) {{
    for (int i = threadIdx.x; i < M_TILE * K_TILE; i += THREADS) {{
      long long offset = 0;
      const bool is_there = find(locate(first_row + i / K_TILE), step * K_TILE + i % K_TILE, offset);
      stage[i / K_TILE * PITCH + i % K_TILE] = is_there ? ((const signed char*){a})[offset] : (signed char)fill;
    }}
    for (int i = threadIdx.x; i < N_TILE * K_TILE; i += THREADS) {{
      const int n = first_column + i / K_TILE, k = step * K_TILE + i % K_TILE;
      stage[(M_TILE + i / K_TILE) * PITCH + i % K_TILE] = n < COLUMNS && k < DEPTH ? ((const signed char*){b})[n * {column_stride}ll + k] : (signed char)0;
    }}
  }};
)";

constexpr const char* kJoinParts = R"(  __shared__ bool is_last;
  const long long tile = (long long)blockIdx.y * gridDim.x + blockIdx.x;
  int* own = parts + (tile * SPLITS + blockIdx.z) * M_TILE * N_TILE;
  for (int e = threadIdx.x; e < M_TILE * N_TILE; e += THREADS) own[e] = tile_sums[e / N_TILE * SUM_PITCH + e % N_TILE];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&counts[tile], 1) == SPLITS - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  if (threadIdx.x == 0) counts[tile] = 0;
  const volatile int* of_all = parts + tile * SPLITS * M_TILE * N_TILE;
  for (int e = threadIdx.x; e < M_TILE * N_TILE; e += THREADS) {
    int sum = 0;
#pragma unroll
    for (int split = 0; split < SPLITS; ++split) sum += of_all[split * M_TILE * N_TILE + e];
    tile_sums[e / N_TILE * SUM_PITCH + e % N_TILE] = sum;
  }
  __syncthreads();
)";

struct TileShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t warps_m = 0;
  std::int64_t warps_n = 0;

  std::int64_t threads() const { return 32 * warps_m * warps_n; }
};

constexpr TileShape kTileShapes[] = {
    {128, 128, 2, 4}, {128, 64, 4, 2}, {64, 64, 2, 2}, {32, 32, 2, 2}};

std::int64_t tiles_for(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Blocks {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t splits = 1;

  std::int64_t tiles() const { return m * n; }
};

KernelText byte_kernel_of(const ByteTiles& tiles, const TileShape& shape, const Blocks& blocks) {
  const std::string fetching =
      tiles.group >= 4
          ? fmt::format(kFetchBytes, fmt::arg("a", tiles.a), fmt::arg("b", tiles.b),
                        fmt::arg("column_stride", tiles.column_stride))
          : fmt::format(kFetchSingleBytes, fmt::arg("a", tiles.a), fmt::arg("b", tiles.b),
                        fmt::arg("column_stride", tiles.column_stride));
  const std::string text = fmt::format(
      kByteTilesText, fmt::arg("threads", shape.threads()),
      fmt::arg("parameters",
               tiles.parameters + (blocks.splits > 1 ? ", int* counts, int* parts" : "")),
      fmt::arg("rows", tiles.rows), fmt::arg("columns", tiles.columns),
      fmt::arg("depth", tiles.depth), fmt::arg("group", tiles.group), fmt::arg("m_tile", shape.m),
      fmt::arg("n_tile", shape.n), fmt::arg("warps_n", shape.warps_n),
      fmt::arg("m_warp", shape.m / shape.warps_m), fmt::arg("n_warp", shape.n / shape.warps_n),
      fmt::arg("splits", blocks.splits), fmt::arg("fill", tiles.fill),
      fmt::arg("locate", tiles.locate), fmt::arg("find", tiles.find),
      fmt::arg("fetching", fetching), fmt::arg("a_stored", stored_type(tiles.a_type)),
      fmt::arg("b_stored", stored_type(tiles.b_type)),
      fmt::arg("joining", blocks.splits > 1 ? kJoinParts : ""),
      fmt::arg("together", tiles.results_together), fmt::arg("coordinates", tiles.coordinates),
      fmt::arg("result_stored", stored_type(tiles.result_type)),
      fmt::arg("computing", tiles.computing), fmt::arg("result", tiles.result),
      fmt::arg("place", tiles.place));
  const std::int64_t in_flight = kTileStages * (shape.m + shape.n) * kTilePitch;
  const std::int64_t of_sums = shape.m * (shape.n + 4) * 4;
  return {text,
          {.blocks = {static_cast<unsigned>(blocks.m), static_cast<unsigned>(blocks.n),
                      static_cast<unsigned>(blocks.splits)},
           .threads = static_cast<unsigned>(shape.threads()),
           .shared_bytes = static_cast<unsigned>(std::max(in_flight, of_sums))}};
}

Candidate byte_candidate_of(Lowering& lowering, const ByteTiles& tiles, const TileShape& shape,
                            const Blocks& blocks, const StepDraft& draft) {
  const std::string name =
      fmt::format("own bytes {}x{}{}", shape.m, shape.n,
                  blocks.splits > 1 ? fmt::format(", {} parts", blocks.splits) : "");
  const KernelText kernel = byte_kernel_of(tiles, shape, blocks);
  if (blocks.splits == 1) return own_candidate(lowering, name, kernel, true, draft);
  // Blocks that are done; zeros before and after each run.
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(blocks.tiles()), 0);
  const Placement counts = lowering.weight(
      Tensor::of(DataType::Int32, {blocks.tiles()}, std::span<const std::int32_t>(zeros)));
  const std::int64_t bytes = blocks.tiles() * blocks.splits * shape.m * shape.n * 4;
  return own_candidate(lowering, name, kernel, true, draft, {counts}, bytes);
}

struct TileChoice {
  TileShape shape;
  Blocks blocks;
  std::int64_t cost = 0;  // about, in products of a tile
};

std::int64_t cost_of(const TileShape& shape, const Blocks& blocks, std::int64_t steps,
                     std::int64_t multiprocessors) {
  constexpr std::int64_t kOfAStep = 2048;
  constexpr std::int64_t kOfJoining = 8192;
  const std::int64_t rounds = tiles_for(blocks.tiles() * blocks.splits, multiprocessors);
  const std::int64_t sums = tiles_for(steps, blocks.splits) * (shape.m * shape.n + kOfAStep);
  return rounds * (sums + (blocks.splits > 1 ? kOfJoining : 0));
}

// As many as leave no multiprocessor idle, if each has enough steps.
std::int64_t splits_of(const Blocks& blocks, std::int64_t steps, std::int64_t multiprocessors) {
  constexpr std::int64_t kFewestSteps = 4;
  constexpr std::int64_t kMostSplits = 16;
  std::int64_t splits =
      std::min({multiprocessors / blocks.tiles(), steps / kFewestSteps, kMostSplits});
  while (splits > 1 && (splits - 1) * tiles_for(steps, splits) >= steps) --splits;
  return splits;
}

// The most promising ones, the best of them first.
std::vector<TileChoice> choices_for(const ByteTiles& tiles, std::int64_t multiprocessors) {
  std::vector<TileChoice> all;
  const std::int64_t steps = tiles_for(tiles.depth, kTileDepth);
  const auto add = [&](const TileShape& shape, const Blocks& blocks) {
    all.push_back({shape, blocks, cost_of(shape, blocks, steps, multiprocessors)});
  };
  for (const TileShape& shape : kTileShapes) {
    Blocks blocks{.m = tiles_for(tiles.rows, shape.m), .n = tiles_for(tiles.columns, shape.n)};
    constexpr std::int64_t kMostBlocks = 65535;
    if (blocks.n > kMostBlocks) continue;
    add(shape, blocks);
    blocks.splits = splits_of(blocks, steps, multiprocessors);
    if (blocks.splits > 1) add(shape, blocks);
  }
  std::ranges::stable_sort(all, {}, &TileChoice::cost);
  constexpr std::size_t kMostChoices = 4;
  all.resize(std::min(all.size(), kMostChoices));
  return all;
}

}  // namespace

bool has_exact_sums(std::int64_t depth) {
  constexpr std::int64_t kLargestProduct = 255 * 255;
  return depth > 0 && depth * kLargestProduct < (std::int64_t{1} << 31);
}

std::vector<Candidate> byte_tile_candidates(Lowering& lowering, const ByteTiles& tiles,
                                            const StepDraft& draft) {
  std::vector<Candidate> all;
  constexpr int kFirstWithBytes = 80;  // compute capability
  const gpu::DeviceFacts& facts = lowering.device().facts();
  const bool has_arguments_left =
      draft.reads.size() + draft.writes.size() + 2 <= gpu::kMaxArguments;
  if (facts.compute_capability < kFirstWithBytes || !has_arguments_left) return all;
  for (const TileChoice& choice : choices_for(tiles, facts.multiprocessors))
    all.push_back(byte_candidate_of(lowering, tiles, choice.shape, choice.blocks, draft));
  return all;
}

std::int64_t results_together(const Placement& result, std::size_t axis) {
  if (result.strides[axis] != 1) return 1;
  std::int64_t together = 128 / bits(result.type);
  const auto fits = [&](std::int64_t count) {
    if (result.dims[axis] % count != 0 || result.offset % count != 0) return false;
    for (std::size_t other = 0; other < result.dims.size(); ++other)
      if (other != axis && result.dims[other] != 1 && result.strides[other] % count != 0)
        return false;
    return true;
  };
  while (together > 1 && !fits(together)) together /= 2;
  return together;
}

}  // namespace assay::cuda
