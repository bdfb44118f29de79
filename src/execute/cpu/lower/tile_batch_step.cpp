#include "execute/cpu/lower/tile_batch_step.h"

#include <algorithm>

#include "execute/threads.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

namespace {

// Rows of one product are shared out too, where the batch alone would leave threads idle.
std::int64_t parts_of_each(std::size_t products, std::int64_t rows, int threads) {
  const auto count = static_cast<std::int64_t>(products);
  if (count % threads == 0) return 1;
  constexpr auto kLeastRows = static_cast<std::int64_t>(2 * kTileRows);
  return std::clamp<std::int64_t>(rows / kLeastRows, 1, threads);
}

// A matrix while the program runs.
struct MatrixInMemory {
  std::byte* first = nullptr;
  std::int64_t element_bytes = 1;
  std::vector<std::int64_t> offsets;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixInMemory(const Addresses& at, const BatchedMatrix& matrix)
      : first(at.bytes(matrix.placement)),
        element_bytes(*byte_size(matrix.placement.type, 1)),
        offsets(matrix.offsets),
        row_stride(matrix.row_stride),
        column_stride(matrix.column_stride) {}

  std::byte* row(std::int64_t product, std::int64_t row) const {
    return first + (offsets[static_cast<std::size_t>(product)] + row * row_stride) * element_bytes;
  }
};

}  // namespace

std::vector<std::int64_t> batch_offsets(const Placement& placement, const Dims& batch) {
  const std::size_t own = placement.dims.size() - 2;
  std::vector<std::int64_t> strides(batch.size(), 0);
  for (std::size_t i = 0; i < own; ++i) {
    const std::size_t axis = batch.size() - own + i;
    if (placement.dims[i] != 1) strides[axis] = placement.strides[i];
  }
  std::vector<std::int64_t> offsets;
  kernels::for_each_index(batch, [&](std::span<const std::int64_t> index, std::size_t) {
    offsets.push_back(kernels::offset_of(index, strides));
  });
  return offsets;
}

BatchedMatrix batched_matrix(const Placement& placement, const Dims& batch) {
  const std::size_t rank = placement.dims.size();
  const bool is_row = placement.dims[rank - 2] == 1;
  return {.placement = placement,
          .offsets = batch_offsets(placement, batch),
          .row_stride = is_row ? placement.dims[rank - 1] : placement.strides[rank - 2],
          .column_stride = placement.dims[rank - 1] == 1 ? 1 : placement.strides[rank - 1]};
}

bool fits_tiles(const TileBatchLayer& layer, const BatchedMatrix& left,
                const BatchedMatrix& result) {
  return tiles() != nullptr && (layer.type != TileType::BF16 || tiles()->multiplies_bf16) &&
         TileBatch::fits(layer.type, layer.k) && left.column_stride == 1 &&
         result.column_stride == 1;
}

void add_tile_batch_step(Lowering& lowering, StepDraft draft, const TileBatchLayer& layer,
                         const BatchedMatrix& left, const BatchedMatrix& right,
                         const BatchedMatrix& result) {
  const auto batch = std::make_shared<TileBatch>(layer, *tiles());
  const int threads = lowering.threads();
  const std::int64_t parts = parts_of_each(result.offsets.size(), layer.m, threads);
  const auto tasks = static_cast<std::int64_t>(result.offsets.size()) * parts;
  const auto thread_bytes = static_cast<std::int64_t>(batch->workspace_bytes());
  const Placement workspace = row_major_placement(lowering.new_buffer(threads * thread_bytes),
                                                  DataType::Int8, {threads, thread_bytes});
  draft.algorithm = layer.type == TileType::BF16 ? "tiles bf16" : "tiles int8";
  draft.workspace.push_back(workspace.buffer);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const MatrixInMemory a(at, left), b(at, right), c(at, result);
    std::byte* memory = at.bytes(workspace);
    return [=] {
      execute::for_each_in_parallel(threads, static_cast<std::size_t>(threads), [&](std::size_t t) {
        const auto thread = static_cast<std::int64_t>(t);
        for (std::int64_t i = tasks * thread / threads; i < tasks * (thread + 1) / threads; ++i) {
          const std::int64_t product = i / parts;
          const std::int64_t first = layer.m * (i % parts) / parts;
          const std::int64_t last = layer.m * (i % parts + 1) / parts;
          batch->run({.left = a.row(product, first),
                      .left_stride = a.row_stride,
                      .right = b.row(product, 0),
                      .right_row_stride = b.row_stride,
                      .right_column_stride = b.column_stride,
                      .result = c.row(product, first),
                      .result_stride = c.row_stride,
                      .workspace = memory + thread * thread_bytes},
                     last - first);
        }
      });
    };
  });
}

}  // namespace assay::cpu
