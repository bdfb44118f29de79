// A 3×3 convolution of stride 1 on channels-last images of 8-bit numbers or bf16, by Winograd's
// algorithm in 16-bit integers (simd/winograd16.h). Results of 8-bit images are exact, those of
// bf16 images closer than if filters were rounded to bf16.
#pragma once

#include "execute/cpu/kernels/tile_blocks.h"
#include "execute/cpu/kernels/tile_convolution.h"
#include "execute/cpu/simd/winograd16.h"

namespace assay::cpu {

class Winograd16 : public PackedConvolution {
 public:
  // Windows, numbers and epilogues that have a form here.
  static bool fits(const TileLayer& layer, std::int64_t groups);
  // Whether 8-bit weights [outputs, …] give exact results, whatever the images hold.
  static bool is_exact(const TileLayer& layer, const std::int8_t* weights);

  Winograd16(const TileLayer& layer, int threads, const Winograd16Kernels& kernels);

  bool takes_floats() const override { return layer_.type == TileType::BF16; }
  std::size_t outputs() const override { return shape_.outputs; }
  std::size_t weight_bytes() const override;
  std::size_t workspace_bytes() const override;
  std::int64_t flops() const override;  // transforms included
  bool adds() const override { return layer_.epilogue.addend_type != TileNumber::None; }
  void pack(const TileParameters& parameters, std::byte* packed) const override;
  using PackedConvolution::run;
  void run(const TileOperands& operands) const override;

 private:
  // Where in a workspace what lies between the stages begins.
  struct Between {
    std::int16_t* inputs = nullptr;
    std::int32_t* products = nullptr;
    float* scales = nullptr;
    float* transformed = nullptr;  // 36 rows for each thread
  };

  std::size_t tiles() const { return images_ * shape_.tiles_down * shape_.tiles_across; }
  std::size_t pairs() const { return (shape_.channels + 1) / 2; }
  std::size_t input_stride() const;    // numbers from row to row
  std::size_t product_stride() const;  // likewise; also all arrays of a number for each output
  std::size_t input_plane() const;
  std::size_t product_plane() const;
  std::size_t panel_numbers() const { return pairs() * 2 * kWinograd16Columns; }
  std::size_t filter_numbers() const;
  std::size_t bytes_of_workspace() const;  // of one of them
  std::size_t threads_of_workspace() const;
  Between between(std::byte* workspace) const;
  const float* constants(const void* packed) const;  // filter scales of bf16, bias, scales
  void pack_integers(const std::int8_t* weights, std::size_t output, std::int16_t* packed) const;
  void pack_floats(const float* weights, std::size_t output, std::int16_t* packed,
                   float* scales) const;
  void transform_inputs(const TileOperands& operands, const TileBlock& block,
                        const Between& at) const;
  void multiply(const TileOperands& operands, const TileBlock& block, const Between& at) const;
  void write_results(const TileOperands& operands, const TileBlock& block, const Between& at) const;

  TileLayer layer_;
  const Winograd16Kernels& kernels_;
  WinogradShape shape_;
  std::size_t images_ = 0;
  int threads_ = 1;
  TileBlocks blocks_;
};

}  // namespace assay::cpu
