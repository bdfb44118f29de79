#include "execute/cuda/attention_kernel.h"

#include <fmt/core.h>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/tile_text.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kWidest = 128;  // vectors, for want of registers
constexpr std::int64_t kGroup = 8;     // which all vectors are a multiple of

// What both kernels begin with.
constexpr const char* kBegin = R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL(const {stored}* __restrict__ query, const {stored}* __restrict__ keys, const {stored}* __restrict__ values, {more_parameters}{stored}* __restrict__ out) {{
  constexpr int THREADS = {threads}, ROWS = {tile_rows}, KEYS = {tile_keys}, COUNT = {keys};
  constexpr int DEPTH = {padded_depth}, WIDTH = {padded_width}, DEEP = DEPTH + {gap}, WIDE = WIDTH + {gap};
  const float lowest = __uint_as_float(0xff800000u);
  DYNAMIC_SHARED(memory);
  {stored}* const own_query = ({stored}*)memory;
  {stored}* const own_keys = own_query + ROWS * DEEP;
  {stored}* const own_values = own_keys + {buffers} * KEYS * DEEP;
  const long long z = blockIdx.y;
  const int first_row = blockIdx.x * ROWS;
  const auto score_of = [&](float sum, int row, int column) -> float {{
    if (column >= COUNT) return lowest;
    if (row >= {rows}) row = {rows} - 1;
{score}  }};
  const auto fetch = [&](int first) {{
    const int buffer = first / KEYS % {buffers};
    fetch_lines<THREADS, KEYS, {depth}, DEPTH, DEEP, {keys_in_groups}>(own_keys + buffer * KEYS * DEEP, keys + {keys_start}, {keys_line}ll, {keys_stride}ll, first, COUNT);
    fetch_lines<THREADS, KEYS, {width}, WIDTH, WIDE, {values_in_groups}>(own_values + buffer * KEYS * WIDE, values + {values_start}, {values_line}ll, {values_stride}ll, first, COUNT);
  }};
  fetch_lines<THREADS, ROWS, {depth}, DEPTH, DEEP, {query_in_groups}>(own_query, query + {query_start}, {query_line}ll, {query_stride}ll, first_row, {rows});
  fetch(0);
)";

// A warp computes 16 rows, by tensor cores. A thread has rows `group` and `group` + 8 of them, and
// of 8 columns two.
constexpr const char* kByTensorCores = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4 * 2;
  const int turned = lane / 8 % 2 * 8 + lane % 8, straight = lane / 16 * 8 + lane % 8;
  unsigned asked[DEPTH / 16][4];
  float sums[WIDTH / 8][4] = {{}};
  float top[2] = {{lowest, lowest}}, total[2] = {{0, 0}};
  for (int first = 0; first < COUNT; first += KEYS) {{
    wait_for_copies<0>();
    __syncthreads();
    if (first + KEYS < COUNT) fetch(first + KEYS);
    const {stored}* const tile_keys = own_keys + first / KEYS % {buffers} * KEYS * DEEP;
    const {stored}* const tile_values = own_values + first / KEYS % {buffers} * KEYS * WIDE;
    if (first == 0)
      for (int d = 0; d < DEPTH / 16; ++d) load_fragments<false>(asked[d], own_query + (warp * 16 + turned) * DEEP + d * 16 + lane / 16 * 8);
    float scores[KEYS / 8][4] = {{}};
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) {{
      if (first + j * 16 >= COUNT) continue;
#pragma unroll
      for (int d = 0; d < DEPTH / 16; ++d) {{
        unsigned key[4];
        load_fragments<false>(key, tile_keys + (j * 16 + straight) * DEEP + d * 16 + lane / 8 % 2 * 8);
        multiply_tiles<{stored}>(scores[2 * j], asked[d], key[0], key[1]);
        multiply_tiles<{stored}>(scores[2 * j + 1], asked[d], key[2], key[3]);
      }}
    }}
    float largest[2] = {{top[0], top[1]}};
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) {{
#pragma unroll
      for (int i = 0; i < 4; ++i) {{
        scores[j][i] = score_of(scores[j][i], first_row + warp * 16 + group + i / 2 * 8, first + j * 8 + pair + i % 2);
        largest[i / 2] = larger(largest[i / 2], scores[j][i]);
      }}
    }}
    float base[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {{
      for (int mask = 1; mask < 4; mask *= 2) largest[h] = larger(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], mask));
      base[h] = largest[h] == lowest ? 0.0f : largest[h];
      const float shrunk = exp2f((top[h] - base[h]) * 1.4426950408889634f);
      top[h] = largest[h];
      total[h] *= shrunk;
#pragma unroll
      for (int n = 0; n < WIDTH / 8; ++n) {{
        sums[n][2 * h] *= shrunk;
        sums[n][2 * h + 1] *= shrunk;
      }}
    }}
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) {{
#pragma unroll
      for (int i = 0; i < 4; ++i) {{
        scores[j][i] = exp2f((scores[j][i] - base[i / 2]) * 1.4426950408889634f);
        total[i / 2] += scores[j][i];
      }}
    }}
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) {{
      if (first + j * 16 >= COUNT) continue;
      const unsigned share[4] = {{pair_of<{stored}>(scores[2 * j][0], scores[2 * j][1]), pair_of<{stored}>(scores[2 * j][2], scores[2 * j][3]),
                                 pair_of<{stored}>(scores[2 * j + 1][0], scores[2 * j + 1][1]), pair_of<{stored}>(scores[2 * j + 1][2], scores[2 * j + 1][3])}};
#pragma unroll
      for (int n = 0; n < WIDTH / 16; ++n) {{
        unsigned value[4];
        load_fragments<true>(value, tile_values + (j * 16 + turned) * WIDE + n * 16 + lane / 16 * 8);
        multiply_tiles<{stored}>(sums[2 * n], share, value[0], value[1]);
        multiply_tiles<{stored}>(sums[2 * n + 1], share, value[2], value[3]);
      }}
    }}
  }}
#pragma unroll
  for (int h = 0; h < 2; ++h) {{
    for (int mask = 1; mask < 4; mask *= 2) total[h] += __shfl_xor_sync(0xffffffffu, total[h], mask);
    const int row = first_row + warp * 16 + group + h * 8;
    const float factor = {factor} / total[h];
#pragma unroll
    for (int n = 0; n < {width} / 8; ++n) {{
      const int column = n * 8 + pair;
      if (row < {rows}) *(unsigned*)(out + {result_at}) = pair_of<{stored}>(sums[n][2 * h] * factor, sums[n][2 * h + 1] * factor);
    }}
  }}
}}
)";

// 8 threads compute {own} rows together: each of them every 8th score, and every 8th group of 4
// columns of the result.
constexpr const char* kPlainly = R"(
  constexpr int OWN = {own}, SHARES = KEYS + 4;
  float* const shares = own_values + {buffers} * KEYS * WIDE;
  const int tx = threadIdx.x % 8, own_row = threadIdx.x / 8 * OWN;
  float4 sums[OWN][WIDTH / 32] = {{}};
  float top[OWN], total[OWN];
  for (int i = 0; i < OWN; ++i) {{
    top[i] = lowest;
    total[i] = 0;
  }}
  for (int first = 0; first < COUNT; first += KEYS) {{
    wait_for_copies<0>();
    __syncthreads();
    if (first + KEYS < COUNT) fetch(first + KEYS);
    const float* const tile_keys = own_keys + first / KEYS % {buffers} * KEYS * DEEP;
    const float* const tile_values = own_values + first / KEYS % {buffers} * KEYS * WIDE;
    float scores[OWN][KEYS / 8] = {{}};
#pragma unroll 4
    for (int d = 0; d < DEPTH; d += 4) {{
      float4 key[KEYS / 8];
      for (int j = 0; j < KEYS / 8; ++j) key[j] = *(const float4*)(tile_keys + (tx + 8 * j) * DEEP + d);
      for (int i = 0; i < OWN; ++i) {{
        const float4 asked = *(const float4*)(own_query + (own_row + i) * DEEP + d);
        for (int j = 0; j < KEYS / 8; ++j) scores[i][j] += asked.x * key[j].x + asked.y * key[j].y + asked.z * key[j].z + asked.w * key[j].w;
      }}
    }}
#pragma unroll
    for (int i = 0; i < OWN; ++i) {{
      float largest = top[i];
      for (int j = 0; j < KEYS / 8; ++j) {{
        scores[i][j] = score_of(scores[i][j], first_row + own_row + i, first + tx + 8 * j);
        largest = larger(largest, scores[i][j]);
      }}
      for (int mask = 1; mask < 8; mask *= 2) largest = larger(largest, __shfl_xor_sync(0xffffffffu, largest, mask));
      const float base = largest == lowest ? 0.0f : largest;
      const float shrunk = expf(top[i] - base);
      top[i] = largest;
      total[i] *= shrunk;
      for (int j = 0; j < KEYS / 8; ++j) {{
        const float share = expf(scores[i][j] - base);
        total[i] += share;
        shares[(own_row + i) * SHARES + tx + 8 * j] = share;
      }}
      for (int n = 0; n < WIDTH / 32; ++n) {{
        sums[i][n].x *= shrunk;
        sums[i][n].y *= shrunk;
        sums[i][n].z *= shrunk;
        sums[i][n].w *= shrunk;
      }}
    }}
    __syncwarp();
#pragma unroll 4
    for (int key = 0; key < KEYS; ++key) {{
      float4 value[WIDTH / 32];
      for (int n = 0; n < WIDTH / 32; ++n) value[n] = *(const float4*)(tile_values + key * WIDE + tx * 4 + 32 * n);
      for (int i = 0; i < OWN; ++i) {{
        const float share = shares[(own_row + i) * SHARES + key];
        for (int n = 0; n < WIDTH / 32; ++n) {{
          sums[i][n].x += share * value[n].x;
          sums[i][n].y += share * value[n].y;
          sums[i][n].z += share * value[n].z;
          sums[i][n].w += share * value[n].w;
        }}
      }}
    }}
    __syncwarp();
  }}
#pragma unroll
  for (int i = 0; i < OWN; ++i) {{
    for (int mask = 1; mask < 8; mask *= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], mask);
    const int row = first_row + own_row + i;
    const float factor = {factor} / total[i];
#pragma unroll
    for (int n = 0; n < WIDTH / 32; ++n) {{
      const int column = tx * 4 + 32 * n;
      const float4 result = {{sums[i][n].x * factor, sums[i][n].y * factor, sums[i][n].z * factor, sums[i][n].w * factor}};
      if (row < {rows} && column < {width}) *(float4*)(out + {result_at}) = result;
    }}
  }}
}}
)";

std::int64_t rounded_up(std::int64_t number, std::int64_t to) {
  return (number + to - 1) / to * to;
}

struct Tiling {
  std::int64_t threads = 128;
  std::int64_t own = 1;  // rows of a thread
  std::int64_t rows = 64;
  std::int64_t keys = 64;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  std::int64_t gap = 8;  // elements between lines, so that threads meet other banks of memory
  std::int64_t buffers = 2;

  std::int64_t shared_bytes(DataType type) const {
    const std::int64_t deep = depth + gap;
    const std::int64_t wide = width + gap;
    const std::int64_t shares = type == DataType::Float32 ? rows * (keys + 4) : 0;
    return (rows * deep + buffers * keys * (deep + wide) + shares) * bits(type) / 8;
  }
};

// Large blocks read keys and values less often; small ones give every multiprocessor some.
Tiling tiling_of(const AttentionShape& shape, const gpu::DeviceFacts& device) {
  constexpr std::int64_t kLarge = 64;
  const std::int64_t blocks = (shape.rows + kLarge - 1) / kLarge * shape.batches;
  const bool is_large = blocks >= device.multiprocessors;
  const bool is_plain = shape.type == DataType::Float32;
  Tiling tiling{.depth = rounded_up(shape.depth, is_plain ? 4 : 16),
                .width = rounded_up(shape.width, is_plain ? 32 : 16)};
  tiling.rows = is_large ? kLarge : kLarge / 2;
  if (is_plain) {
    tiling.own = is_large ? 4 : 2;
    tiling.keys = 32;
    tiling.gap = 4;
  } else {
    tiling.threads = is_large ? 128 : 64;
  }
  tiling.buffers = shape.keys > tiling.keys ? 2 : 1;
  return tiling;
}

bool fits(std::int64_t width) {
  return width > 0 && width <= kWidest && width % kGroup == 0;
}

}  // namespace

bool has_attention_kernel(const AttentionShape& shape, const gpu::DeviceFacts& device) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const bool has_type = shape.type == DataType::Float32 || shape.type == DataType::Float16 ||
                        shape.type == DataType::BFloat16;
  return has_type && fits(shape.depth) && fits(shape.width) && shape.rows < kMost &&
         shape.keys < kMost && device.compute_capability >= kFirstCapabilityOfTiles &&
         tiling_of(shape, device).shared_bytes(shape.type) <= device.shared_bytes_per_block;
}

KernelText attention_kernel(const Attention& attention, const gpu::DeviceFacts& device) {
  const AttentionShape& shape = attention.shape;
  const Tiling tiling = tiling_of(shape, device);
  const std::string form =
      std::string(kBegin) + (shape.type == DataType::Float32 ? kPlainly : kByTensorCores);
  const std::string text = fmt::format(
      fmt::runtime(form), fmt::arg("stored", stored_type(shape.type)),
      fmt::arg("threads", tiling.threads), fmt::arg("own", tiling.own),
      fmt::arg("tile_rows", tiling.rows), fmt::arg("tile_keys", tiling.keys),
      fmt::arg("padded_depth", tiling.depth), fmt::arg("padded_width", tiling.width),
      fmt::arg("gap", tiling.gap), fmt::arg("buffers", tiling.buffers),
      fmt::arg("rows", shape.rows), fmt::arg("keys", shape.keys), fmt::arg("depth", shape.depth),
      fmt::arg("width", shape.width), fmt::arg("more_parameters", attention.more_parameters),
      fmt::arg("score", attention.score), fmt::arg("factor", attention.factor),
      fmt::arg("result_at", attention.result_at), fmt::arg("query_start", attention.query.start),
      fmt::arg("query_line", attention.query.line_stride),
      fmt::arg("query_stride", attention.query.stride),
      fmt::arg("query_in_groups", attention.query.in_groups),
      fmt::arg("keys_start", attention.keys.start),
      fmt::arg("keys_line", attention.keys.line_stride),
      fmt::arg("keys_stride", attention.keys.stride),
      fmt::arg("keys_in_groups", attention.keys.in_groups),
      fmt::arg("values_start", attention.values.start),
      fmt::arg("values_line", attention.values.line_stride),
      fmt::arg("values_stride", attention.values.stride),
      fmt::arg("values_in_groups", attention.values.in_groups));
  const auto blocks = static_cast<unsigned>((shape.rows + tiling.rows - 1) / tiling.rows);
  return {text,
          {.blocks = {blocks, static_cast<unsigned>(shape.batches), 1},
           .threads = static_cast<unsigned>(tiling.threads),
           .shared_bytes = static_cast<unsigned>(tiling.shared_bytes(shape.type))}};
}

}  // namespace assay::cuda
