// Winograd's F(4×4, 3×3) with products of 16-bit integers, for processors that multiply two pairs
// of them at a time (AVX-512 VNNI): 36 products for 16 results instead of 144, at half the rate of
// 8-bit products.
//
// 8-bit images: everything is exact. With Bᵀ's rows of an absolute sum of at most 10, transformed
// inputs are at most 100 · 255. With the filter matrix G in whole numbers (kWinograd16Filter),
// which is 24 · G or for its last row 3, results come out multiplied by 24². All sums are kept
// modulo 2³²: an overflow on the way does no harm, and a result is exact if it is within ±2²⁵.
//
// bf16 images: transformed inputs are rounded to 16 bits with a scale for each tile and plane, such
// that their Euclidean norm over all channels is kWinograd16Norm; filters likewise, a scale for
// each plane and output. A sum is at most the product of the two norms (Cauchy and Schwarz): it
// fits.
//
// Transformed inputs are planes of rows, a row for each tile, whole vectors of kWinograd16Channels.
// Nothing here allocates or starts threads.
#pragma once

#include "execute/cpu/simd/simd.h"
#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

constexpr std::size_t kWinograd16Planes = 36;
constexpr std::size_t kWinograd16Channels = 32;  // a row's length is a multiple of it
constexpr std::size_t kWinograd16Columns = 32;   // of a panel
constexpr int kWinograd16Filter[6][3] = {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4},
                                         {1, 2, 4}, {1, -2, 4},   {0, 0, 3}};
// Results of 8-bit images have to be less than this.
constexpr std::int64_t kWinograd16Limit = std::int64_t{1} << 25;
// Of a row before it is rounded. Rounding adds at most √channels / 2 to a norm:
// (32000 + 12) · (65000 + 12) < 2³¹. The error grows with √channels; up to 512 of them it is not
// larger than that of filters in bf16.
constexpr float kWinograd16Norm = 32000;
constexpr float kWinograd16FilterNorm = 65000;
constexpr std::int64_t kWinograd16MostChannels = 512;  // of bf16

// Rows first..last are tiles of the batch; `inputs` is where plane 0 of the first goes.
struct Winograd16Inputs {
  std::int16_t* inputs = nullptr;
  std::size_t row_stride = 0;
  std::size_t plane_stride = 0;
  float* scales = nullptr;     // bf16: what one stands for, 36 for each tile
  float* workspace = nullptr;  // bf16: 36 · row_stride floats
};

// What a panel is: for every two channels, the two numbers of each of its columns side by side.
struct Winograd16Product {
  const std::int16_t* rows = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;
  const std::int16_t* panel = nullptr;
  std::size_t pairs = 0;  // of channels
  std::int32_t* products = nullptr;
  std::size_t products_stride = 0;
  Upcoming upcoming = {};
};

struct Winograd16Products {
  const std::int32_t* products = nullptr;  // of the first tile
  std::size_t row_stride = 0;              // a multiple of kWinograd16Columns
  std::size_t plane_stride = 0;
  const float* scales = nullptr;         // bf16: as of the inputs
  const float* filter_scales = nullptr;  // bf16: what one stands for, 36 rows of row_stride
};

struct Winograd16Kernels {
  const char* isa = "";
  // Of numbers (x − zero point); what lies outside the image counts as 0.
  void (*input_8_bit)(const WinogradShape& shape, const std::byte* images, TileType type,
                      std::int32_t zero_point, std::size_t first, std::size_t last,
                      const Winograd16Inputs& to);
  void (*input_bf16)(const WinogradShape& shape, const std::byte* images, std::size_t first,
                     std::size_t last, const Winograd16Inputs& to);
  void (*product)(const Winograd16Product& product);
  // With an addend of 8 bits, unless results are of 32; results in bf16, with an addend in bf16.
  void (*output_8_bit)(const WinogradShape& shape, const Winograd16Products& from,
                       std::size_t first, std::size_t last, const TileEpilogue& epilogue,
                       std::byte* results);
  void (*output_bf16)(const WinogradShape& shape, const Winograd16Products& from, std::size_t first,
                      std::size_t last, const TileEpilogue& epilogue, std::byte* results);
};

// Null where the processor has no such instructions.
const Winograd16Kernels* winograd16();
const Winograd16Kernels* compiled_winograd16();  // whatever the processor has

}  // namespace assay::cpu
