// Layers with random operands, and the sums that define their results: what convolutions that pack
// their constants (kernels/packed_convolution.h) are compared with.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "execute/cpu/kernels/tile_convolution.h"

namespace assay::cpu::packed {

std::int64_t elements(const kernels::WindowGrid& grid, std::int64_t kernels::WindowAxis::*of_axis);
std::size_t bytes_of(TileNumber type);
double number_at(const std::vector<std::byte>& bytes, TileNumber type, std::size_t i);
float from_bf16(std::uint16_t number);
std::uint16_t as_bf16(float value);  // of numbers that bf16 holds

// A layer with random operands.
struct Setting {
  TileLayer layer;
  int threads = 1;
  bool in_place = false;
  bool are_transposed = false;
  std::vector<std::byte> source, addend;
  std::vector<std::int8_t> weights8;
  std::vector<float> weights16, bias16, scales;
  std::vector<std::int32_t> bias8;

  bool is_8_bit() const { return layer.type != TileType::BF16; }
  TileNumber source_type() const {
    if (!is_8_bit()) return TileNumber::BF16;
    return layer.type == TileType::U8 ? TileNumber::U8 : TileNumber::S8;
  }
  std::size_t results() const {
    return static_cast<std::size_t>(
        layer.images * elements(layer.grid, &kernels::WindowAxis::output) * layer.outputs);
  }
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  float real(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  bool coin() { return between(0, 1) == 1; }
  std::byte byte() { return static_cast<std::byte>(between(0, 255)); }
  // Small whole numbers, so that sums of bf16 products are exact.
  float small() { return static_cast<float>(between(-8, 8)); }

 private:
  std::mt19937 random_;
};

// Windows of any form, or a matrix product.
TileLayer random_layer(Draw& draw);
void draw_epilogue(Draw& draw, Setting& setting);
// Operands for the layer that `setting` has.
void draw_operands(Draw& draw, Setting& setting);
Setting random_setting(unsigned seed);
// 8-bit numbers without bias; scales are 1.
Setting plain_setting(const TileLayer& layer);
TileLayer image_layer(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      std::int64_t channels, std::int64_t outputs);

std::string described(const Setting& setting);
// A result from its sum, before it is rounded to its type and the zero point is added.
double finished(const Setting& setting, std::size_t at, std::size_t output, double sum);
std::vector<std::byte> run(const Setting& setting, const PackedConvolution& convolution);
void expect_defining_sums(const Setting& setting, const PackedConvolution& convolution);

// Calls visit(result position, output, sum), sums of (source − zero point) · weight.
void for_each_sum(const Setting& setting,
                  const std::function<void(std::size_t, std::size_t, double)>& visit);

}  // namespace assay::cpu::packed
