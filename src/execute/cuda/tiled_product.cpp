#include "execute/cuda/tiled_product.h"

#include <fmt/core.h>

namespace assay::cuda {

namespace {

constexpr std::int64_t kTile = 64;  // rows and columns of a block

// A block of 256 threads computes 64 × 64 sums, 4 × 4 a thread, from 16 columns of `a` and 16 rows
// of `b` at a time, which lie in shared memory.
constexpr const char* kText = R"(
extern "C" __global__ void __launch_bounds__(256) KERNEL({parameters}) {{
  __shared__ {sum_type} tile_a[16][68];
  __shared__ {sum_type} tile_b[16][68];
  const long long z = blockIdx.z;
  const long long first_row = blockIdx.x * 64ll, first_column = blockIdx.y * 64ll;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const auto load_a = [&](long long row, long long k) -> {sum_type} {{
{load_a}  }};
  const auto load_b = [&](long long k, long long column) -> {sum_type} {{
{load_b}  }};
  {sum_type} sums[4][4] = {{}};
  for (long long first = 0; first < {depth}; first += 16) {{
    for (int e = threadIdx.x; e < 1024; e += 256) {{
      const long long k = first + e % 16, row = first_row + e / 16;
      tile_a[e % 16][e / 16] = row < {rows} && k < {depth} ? load_a(row, k) : {sum_type}(0);
      const long long deep = first + e / 64, column = first_column + e % 64;
      tile_b[e / 64][e % 64] = column < {columns} && deep < {depth} ? load_b(deep, column) : {sum_type}(0);
    }}
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {{
      {sum_type} a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = tile_a[k][ty * 4 + i];
      for (int j = 0; j < 4; ++j) b[j] = tile_b[k][tx + 16 * j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += a[i] * b[j];
    }}
    __syncthreads();
  }}
  for (int i = 0; i < 4; ++i) {{
    for (int j = 0; j < 4; ++j) {{
      const long long row = first_row + ty * 4 + i, column = first_column + tx + 16 * j;
      if (row >= {rows} || column >= {columns}) continue;
      const {sum_type} sum = sums[i][j];
{store}    }}
  }}
}}
)";

unsigned tiles(std::int64_t length) {
  return static_cast<unsigned>((length + kTile - 1) / kTile);
}

}  // namespace

KernelText tiled_kernel(const TiledProduct& product) {
  const std::string text = fmt::format(
      kText, fmt::arg("parameters", product.parameters), fmt::arg("sum_type", product.sum_type),
      fmt::arg("load_a", product.load_a), fmt::arg("load_b", product.load_b),
      fmt::arg("depth", product.depth), fmt::arg("rows", product.rows),
      fmt::arg("columns", product.columns), fmt::arg("store", product.store));
  return {text,
          {.blocks = {tiles(product.rows), tiles(product.columns),
                      static_cast<unsigned>(product.batches)},
           .threads = 256}};
}

}  // namespace assay::cuda
