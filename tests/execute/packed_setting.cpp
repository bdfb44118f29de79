#include "packed_setting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace assay::cpu::packed {

using kernels::WindowAxis;

std::int64_t elements(const kernels::WindowGrid& grid, std::int64_t WindowAxis::*of_axis) {
  std::int64_t product = 1;
  for (const WindowAxis& axis : grid.axes) product *= axis.*of_axis;
  return product;
}

float from_bf16(std::uint16_t number) {
  const std::uint32_t bits = std::uint32_t{number} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::uint16_t as_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>(bits >> 16);
}

std::size_t bytes_of(TileNumber type) {
  return type == TileNumber::U8 || type == TileNumber::S8 ? 1 : type == TileNumber::BF16 ? 2 : 4;
}

double number_at(const std::vector<std::byte>& bytes, TileNumber type, std::size_t i) {
  const std::byte* at = bytes.data() + i * bytes_of(type);
  std::int32_t whole = 0;
  float real = 0;
  std::uint16_t half = 0;
  switch (type) {
    case TileNumber::U8:
      return static_cast<double>(std::to_integer<std::uint8_t>(*at));
    case TileNumber::S8:
      return static_cast<std::int8_t>(*at);
    case TileNumber::S32:
      std::memcpy(&whole, at, sizeof(whole));
      return whole;
    case TileNumber::BF16:
      std::memcpy(&half, at, sizeof(half));
      return from_bf16(half);
    default:
      std::memcpy(&real, at, sizeof(real));
      return real;
  }
}

WindowAxis random_axis(Draw& draw) {
  WindowAxis axis;
  axis.kernel = draw.between(1, 4);
  axis.stride = draw.between(1, 3);
  axis.dilation = draw.between(1, 2);
  axis.pad_begin = draw.coin() ? draw.between(0, 3) : 0;
  axis.pad_end = draw.coin() ? draw.between(0, 3) : 0;
  axis.input = axis.extent() + draw.between(0, 11);
  axis.output = (axis.input + axis.pad_begin + axis.pad_end - axis.extent()) / axis.stride + 1;
  return axis;
}

TileLayer random_layer(Draw& draw) {
  const auto type = static_cast<TileType>(draw.between(0, 2));
  if (draw.between(0, 2) == 0)
    return tile_matrix_product(draw.between(1, 100), draw.between(1, 300), draw.between(1, 70),
                               type);
  TileLayer layer{.grid = {}, .type = type, .epilogue = {}};
  layer.grid.rank = 2;
  layer.grid.axes[1] = random_axis(draw);
  layer.grid.axes[2] = random_axis(draw);
  if (draw.coin()) layer.grid.axes[1].stride = layer.grid.axes[2].stride = 1;
  for (WindowAxis& axis : layer.grid.axes) {
    axis.output = (axis.input + axis.pad_begin + axis.pad_end - axis.extent()) / axis.stride + 1;
  }
  layer.images = draw.between(1, 4);
  layer.channels = draw.coin() ? draw.between(1, 16) : draw.between(1, 80);
  layer.outputs = draw.between(1, 70);
  return layer;
}

void draw_epilogue(Draw& draw, Setting& setting) {
  TileEpilogue& epilogue = setting.layer.epilogue;
  if (setting.is_8_bit()) {
    constexpr TileNumber kResults[] = {TileNumber::U8, TileNumber::S8, TileNumber::S32,
                                       TileNumber::F32};
    epilogue.result = kResults[draw.between(0, 3)];
    if (epilogue.result == TileNumber::S32) return;
    constexpr TileNumber kAddends[] = {TileNumber::None, TileNumber::U8, TileNumber::S8};
    epilogue.addend_type = kAddends[draw.between(0, 2)];
    epilogue.addend_scale = draw.real(0.2f, 1.5f);
    epilogue.addend_zero_point = static_cast<std::int32_t>(draw.between(-10, 10));
    if (draw.coin()) {
      epilogue.own_zero_point = static_cast<std::int32_t>(draw.between(-10, 10));
      epilogue.addend_shift = draw.real(-5, 5);
      epilogue.addend_is_first = draw.coin();
    }
    if (draw.coin()) epilogue.low = draw.real(-50, 0);
    if (epilogue.addend_type != TileNumber::None && draw.coin()) {
      epilogue.rounds_first = true;
      epilogue.low = -100;
      epilogue.high = 100;
      epilogue.factor = draw.real(0.5f, 2);
    }
    const bool is_signed = epilogue.result == TileNumber::S8;
    if (epilogue.result == TileNumber::F32) return;
    epilogue.zero_point = static_cast<std::int32_t>(draw.between(-20, 20) + (is_signed ? 0 : 100));
    epilogue.low_after = static_cast<float>((is_signed ? -128 : 0) - epilogue.zero_point);
    epilogue.high_after = static_cast<float>((is_signed ? 127 : 255) - epilogue.zero_point);
    return;
  }
  epilogue.result = draw.coin() ? TileNumber::BF16 : TileNumber::F32;
  constexpr TileNumber kAddends[] = {TileNumber::None, TileNumber::BF16, TileNumber::F32};
  epilogue.addend_type = kAddends[draw.between(0, 2)];
  epilogue.activation = static_cast<TileActivation>(draw.between(0, 4));
  if (draw.coin()) epilogue.low_after = 0;
}

void draw_operands(Draw& draw, Setting& setting) {
  TileLayer& layer = setting.layer;
  setting.threads = static_cast<int>(draw.between(1, 3));
  setting.are_transposed = elements(layer.grid, &WindowAxis::kernel) == 1 && draw.coin();
  if (setting.is_8_bit() && draw.coin())
    layer.source_zero_point = static_cast<std::int32_t>(
        layer.type == TileType::U8 ? draw.between(0, 255) : draw.between(-128, 127));
  const auto numbers = static_cast<std::size_t>(
      layer.images * elements(layer.grid, &WindowAxis::input) * layer.channels);
  const auto weights = static_cast<std::size_t>(layer.outputs * layer.channels *
                                                elements(layer.grid, &WindowAxis::kernel));
  const auto put = [&](std::vector<std::byte>& to, TileNumber type, std::size_t count) {
    to.resize(count * bytes_of(type));
    for (std::size_t i = 0; i < count; ++i) {
      const float number = draw.small();
      const std::uint16_t half = as_bf16(number);
      if (bytes_of(type) == 1) to[i] = draw.byte();
      if (type == TileNumber::BF16) std::memcpy(to.data() + 2 * i, &half, sizeof(half));
      if (type == TileNumber::F32) std::memcpy(to.data() + 4 * i, &number, sizeof(number));
    }
  };
  put(setting.source, setting.source_type(), numbers);
  if (layer.epilogue.addend_type != TileNumber::None)
    put(setting.addend, layer.epilogue.addend_type, setting.results());
  setting.in_place = bytes_of(layer.epilogue.addend_type) == bytes_of(layer.epilogue.result) &&
                     layer.epilogue.addend_type != TileNumber::None && draw.coin();
  for (std::size_t i = 0; i < weights; ++i) {
    setting.weights8.push_back(static_cast<std::int8_t>(draw.byte()));
    setting.weights16.push_back(draw.small());
  }
  const float typical = 1 / (40 * std::sqrt(static_cast<float>(layer.channels)));
  for (std::int64_t i = 0; i < layer.outputs; ++i) {
    setting.bias8.push_back(static_cast<std::int32_t>(draw.between(-3000, 3000)));
    setting.bias16.push_back(draw.small());
    setting.scales.push_back(draw.real(0.2f, 2) * typical * 0.02f);
  }
}

Setting random_setting(unsigned seed) {
  Draw draw(seed);
  Setting setting;
  setting.layer = random_layer(draw);
  draw_epilogue(draw, setting);
  draw_operands(draw, setting);
  return setting;
}

void for_each_sum(const Setting& setting,
                  const std::function<void(std::size_t, std::size_t, double)>& visit) {
  const TileLayer& layer = setting.layer;
  const auto& [deep, down, across] = layer.grid.axes;
  const std::int64_t taps = elements(layer.grid, &WindowAxis::kernel);
  std::size_t at = 0;
  for (std::int64_t image = 0; image < layer.images; ++image) {
    for (std::int64_t y = 0; y < down.output; ++y) {
      for (std::int64_t x = 0; x < across.output; ++x) {
        for (std::int64_t output = 0; output < layer.outputs; ++output) {
          double sum = 0;
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const std::int64_t in_y = down.position(y, tap / across.kernel);
            const std::int64_t in_x = across.position(x, tap % across.kernel);
            if (in_y < 0 || in_y >= down.input || in_x < 0 || in_x >= across.input) continue;
            const std::int64_t pixel = (image * down.input + in_y) * across.input + in_x;
            for (std::int64_t c = 0; c < layer.channels; ++c) {
              const auto from = static_cast<std::size_t>(pixel * layer.channels + c);
              const auto weight = static_cast<std::size_t>(
                  setting.are_transposed ? c * layer.outputs + output
                                         : (output * layer.channels + c) * taps + tap);
              const double factor =
                  setting.is_8_bit() ? setting.weights8[weight] : setting.weights16[weight];
              sum += (number_at(setting.source, setting.source_type(), from) -
                      layer.source_zero_point) *
                     factor;
            }
          }
          visit(at++, static_cast<std::size_t>(output), sum);
        }
      }
    }
  }
}

double activated(TileActivation activation, double x) {
  switch (activation) {
    case TileActivation::None:
      return x;
    case TileActivation::GeluErf:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case TileActivation::GeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case TileActivation::Swish:
      return x / (1 + std::exp(-x));
    case TileActivation::HardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  }
  return x;
}

double finished(const Setting& setting, std::size_t at, std::size_t output, double sum) {
  const TileEpilogue& epilogue = setting.layer.epilogue;
  if (epilogue.result == TileNumber::S32) return sum + setting.bias8[output];
  // In single precision, like the kernel: what is rounded in between must round alike.
  double value = setting.is_8_bit()
                     ? static_cast<float>(sum + setting.bias8[output]) * setting.scales[output]
                     : sum + setting.bias16[output];
  if (setting.is_8_bit()) value = std::clamp<double>(value, epilogue.low, epilogue.high);
  if (epilogue.rounds_first) value = std::nearbyint(value);
  if (epilogue.addend_type != TileNumber::None)
    value = (value + epilogue.own_zero_point) * epilogue.factor + epilogue.addend_shift +
            (number_at(setting.addend, epilogue.addend_type, at) - epilogue.addend_zero_point) *
                epilogue.addend_scale;
  if (!setting.is_8_bit()) value = activated(epilogue.activation, value);
  return std::clamp<double>(value, epilogue.low_after, epilogue.high_after);
}

double allowed_error(const TileEpilogue& epilogue, double value) {
  switch (epilogue.result) {
    case TileNumber::S32:
      return 0;
    case TileNumber::U8:
    case TileNumber::S8:
      return 0.5 + 1e-4;
    case TileNumber::BF16:
      return std::abs(value) * 0x1p-8 + 1e-4;
    default:
      return std::abs(value) * 1e-5 + 1e-4;
  }
}

std::string described(const Setting& setting) {
  const TileLayer& layer = setting.layer;
  std::string text = "type " + std::to_string(static_cast<int>(layer.type)) + ", result " +
                     std::to_string(static_cast<int>(layer.epilogue.result)) + ", addend " +
                     std::to_string(static_cast<int>(layer.epilogue.addend_type)) + ", " +
                     std::to_string(layer.images) + " images of " + std::to_string(layer.channels) +
                     " channels, " + std::to_string(layer.outputs) + " outputs, threads " +
                     std::to_string(setting.threads);
  for (const WindowAxis& axis : layer.grid.axes) {
    text += "; " + std::to_string(axis.input) + "->" + std::to_string(axis.output) + " kernel " +
            std::to_string(axis.kernel) + " stride " + std::to_string(axis.stride) + " dilation " +
            std::to_string(axis.dilation) + " pad " + std::to_string(axis.pad_begin);
  }
  return text;
}

std::vector<std::byte> run(const Setting& setting, const PackedConvolution& convolution) {
  std::vector<std::byte> packed(convolution.weight_bytes());
  TileParameters parameters{.are_transposed = setting.are_transposed};
  if (setting.is_8_bit()) {
    parameters.weights = setting.weights8.data();
    parameters.bias = setting.bias8.data();
    parameters.scales = setting.scales.data();
  } else {
    parameters.weights = setting.weights16.data();
    parameters.bias = setting.bias16.data();
  }
  convolution.pack(parameters, packed.data());
  // Bytes that would show if they were used: NaN as bf16.
  std::vector<std::byte> workspace(convolution.workspace_bytes(), std::byte{0xff});
  std::vector<std::byte> result(setting.results() * bytes_of(setting.layer.epilogue.result),
                                std::byte{0xee});
  if (setting.in_place) result = setting.addend;
  convolution.run(TileOperands{.source = setting.source.data(),
                               .weights = packed.data(),
                               .addend = setting.in_place ? result.data() : setting.addend.data(),
                               .result = result.data(),
                               .workspace = workspace.data()});
  return result;
}

void expect_defining_sums(const Setting& setting, const PackedConvolution& convolution) {
  const TileEpilogue& epilogue = setting.layer.epilogue;
  const std::vector<std::byte> result = run(setting, convolution);
  std::size_t wrong = 0;
  for_each_sum(setting, [&](std::size_t at, std::size_t output, double sum) {
    const double expected = finished(setting, at, output, sum);
    const bool is_shifted = bytes_of(epilogue.result) == 1;
    const double got =
        number_at(result, epilogue.result, at) - (is_shifted ? epilogue.zero_point : 0);
    if (std::abs(got - expected) <= allowed_error(epilogue, expected)) return;
    if (wrong++ == 0) ADD_FAILURE() << "at " << at << ": " << got << " instead of " << expected;
  });
  EXPECT_EQ(wrong, 0u) << "of " << setting.results();
}

Setting plain_setting(const TileLayer& layer) {
  Setting setting = random_setting(1);
  setting.layer = layer;
  setting.in_place = setting.are_transposed = false;
  Draw draw(7);
  setting.source.resize(static_cast<std::size_t>(
      layer.images * elements(layer.grid, &WindowAxis::input) * layer.channels));
  for (std::byte& byte : setting.source) byte = draw.byte();
  setting.weights8.clear();
  const std::int64_t weights =
      layer.outputs * layer.channels * elements(layer.grid, &WindowAxis::kernel);
  for (std::int64_t i = 0; i < weights; ++i)
    setting.weights8.push_back(static_cast<std::int8_t>(draw.byte()));
  setting.bias8.assign(static_cast<std::size_t>(layer.outputs), 0);
  setting.scales.assign(static_cast<std::size_t>(layer.outputs), 1);
  return setting;
}

TileLayer image_layer(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                      std::int64_t channels, std::int64_t outputs) {
  TileLayer layer{.grid = {}, .channels = channels, .outputs = outputs, .epilogue = {}};
  layer.grid.rank = 2;
  for (const std::size_t axis : {1u, 2u}) {
    layer.grid.axes[axis] = {.input = size,
                             .output = (size + 2 * pad - kernel) / stride + 1,
                             .kernel = kernel,
                             .stride = stride,
                             .pad_begin = pad,
                             .pad_end = pad};
  }
  return layer;
}

}  // namespace assay::cpu::packed
