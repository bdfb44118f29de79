// A convolution by tile instructions (AMX) on channels-last images of 8-bit numbers or bf16, and
// with it a matrix product, which is a convolution of 1×1 over one row of pixels.
//
// A row of the matrix A is what a window sees. With images in memory channels last, each row of a
// window is one run of bytes, and windows side by side lie a fixed step apart: tiles are loaded
// from the image itself. Where there is padding or a stride, the image is first copied to the
// workspace: with a border of the source's zero point, and with rows of equal phase of the stride
// together, so that the step also holds from one row of windows to the next. No im2col.
//
// How to use it:
//   TileConvolution conv({.grid = grid, .images = n, .channels = c, .outputs = m,
//                         .type = TileType::U8, .source_zero_point = z, .epilogue = epilogue},
//                        threads, *tiles());  // if tiles() is not null
//   memory of conv.weight_bytes();  conv.pack({.weights = w, .bias = b, .scales = s}, packed);
//   memory of conv.workspace_bytes();
//   conv.run({source, packed, addend, result, workspace});
// `epilogue` (tile_product.h) says what becomes of the sums; its pointers are set here. Bias and
// scales are stored with the weights. The source's zero point z is taken out of the sums: results
// are those of numbers (x − z), padding counts as 0.
#pragma once

#include <vector>

#include "execute/cpu/kernels/packed_convolution.h"
#include "execute/cpu/simd/tiles/tile_product.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

struct TileLayer {
  kernels::WindowGrid grid;  // see fits()
  std::int64_t images = 1;
  std::int64_t channels = 0;
  std::int64_t outputs = 0;
  TileType type = TileType::U8;
  std::int32_t source_zero_point = 0;  // of 8-bit numbers
  TileEpilogue epilogue = {};
};
// rows[m, k] · weights[k, n]
TileLayer tile_matrix_product(std::int64_t m, std::int64_t k, std::int64_t n, TileType type);

class TileConvolution : public PackedConvolution {
 public:
  // Two-dimensional windows (or fewer axes) over all channels.
  static bool fits(const kernels::WindowGrid& grid, std::int64_t groups);

  TileConvolution(const TileLayer& layer, int threads, const TileKernels& kernels);

  bool takes_floats() const override { return layer_.type == TileType::BF16; }
  std::size_t outputs() const override { return outputs_; }
  std::size_t weight_bytes() const override;
  std::size_t workspace_bytes() const override;  // also 0
  // Of the nominal results; padding of the depth to whole tiles counts.
  std::int64_t flops() const override;
  bool adds() const override { return layer_.epilogue.addend_type != TileNumber::None; }
  void pack(const TileParameters& parameters, std::byte* packed) const override;
  void run(const TileOperands& operands) const override;

 private:
  // One row of a window, or one tap of it where taps lie apart: bytes that lie together.
  struct Run {
    std::size_t row = 0, column = 0;  // of the kernel
    std::size_t taps = 1;
    std::size_t offset = 0;  // from where the window begins
  };

  void plan_runs();
  void plan_copy();
  std::size_t last_chunk_offset() const;  // in a run
  bool is_one_matrix() const;             // pixels of all images are its rows
  std::size_t padded_outputs() const;
  std::size_t image_bytes() const;  // of the source
  std::size_t copy_bytes() const;   // of a copied image
  TileProduct product(const TileOperands& operands, const std::byte* rows) const;
  void fill_copy_row(const std::byte* image, std::size_t plane, std::size_t row,
                     std::byte* copy) const;
  void copy_image(const std::byte* image, std::byte* copy, int threads) const;
  void run_image(const TileOperands& operands, std::size_t image, std::byte* copy,
                 int threads) const;
  void multiply(const TileProduct& product, int threads) const;
  void pack_run(const TileParameters& parameters, std::size_t run, std::size_t output,
                std::byte* packed) const;
  void put_weight(const TileParameters& parameters, std::size_t from, std::byte* to) const;
  void pack_constants(const TileParameters& parameters, std::byte* packed) const;

  TileLayer layer_;
  int threads_ = 1;
  const TileKernels& kernels_;
  std::size_t images_ = 0, channels_ = 0, outputs_ = 0;
  std::size_t number_bytes_ = 1;
  bool copies_ = false;
  bool shares_workspace_ = false;    // threads work on one image together
  std::vector<std::size_t> planes_;  // of a copy: the phases of its rows
  std::size_t plane_rows_ = 0;
  std::size_t pitch_ = 0;        // pixels of a row that windows slide over
  std::size_t column_step_ = 1;  // pixels from a window to the next
  std::size_t run_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t chunks_per_run_ = 0;
  std::vector<Run> runs_;
  std::vector<std::size_t> offsets_;  // of all chunks
};

}  // namespace assay::cpu
