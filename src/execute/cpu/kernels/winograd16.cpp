#include "execute/cpu/kernels/winograd16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/round.h"
#include "execute/cpu/kernels/winograd_filter.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;

namespace {

constexpr std::size_t kFilterTaps = 9;
constexpr std::size_t kCacheLine = 64;  // bytes of a line of the cache
// Planes a power of two apart would compete for the same lines of the cache.
constexpr std::size_t kLineOfInputs = kCacheLine / sizeof(std::int16_t);
constexpr std::size_t kLineOfProducts = kCacheLine / sizeof(std::int32_t);

bool is_8_bit(TileNumber type) {
  return type == TileNumber::U8 || type == TileNumber::S8;
}

bool has_form(TileType type, const TileEpilogue& epilogue) {
  const bool adds = epilogue.addend_type != TileNumber::None;
  if (type == TileType::BF16) {
    return epilogue.result == TileNumber::BF16 &&
           (!adds || epilogue.addend_type == TileNumber::BF16);
  }
  if (epilogue.result == TileNumber::S32) return !adds;
  return epilogue.result != TileNumber::BF16 && (!adds || is_8_bit(epilogue.addend_type));
}

std::int64_t largest_input(const TileLayer& layer) {
  const std::int64_t low = layer.type == TileType::S8 ? -128 : 0;
  return std::max(layer.source_zero_point - low, low + 255 - layer.source_zero_point);
}

// Where the numbers of an output and a channel lie in a plane.
std::size_t packed_at(std::size_t output, std::size_t channel, std::size_t panel_numbers) {
  return output / kWinograd16Columns * panel_numbers + channel / 2 * 2 * kWinograd16Columns +
         output % kWinograd16Columns * 2 + channel % 2;
}

}  // namespace

bool Winograd16::fits(const TileLayer& layer, std::int64_t groups) {
  const auto is_three_by_three = [](const WindowAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.output > 0;
  };
  return groups == 1 && layer.grid.rank == 2 && is_three_by_three(layer.grid.axes[1]) &&
         is_three_by_three(layer.grid.axes[2]) &&
         (layer.type != TileType::BF16 || layer.channels <= kWinograd16MostChannels) &&
         has_form(layer.type, layer.epilogue);
}

bool Winograd16::is_exact(const TileLayer& layer, const std::int8_t* weights) {
  const auto taps = static_cast<std::size_t>(layer.channels) * kFilterTaps;
  for (std::size_t output = 0; output < static_cast<std::size_t>(layer.outputs); ++output) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < taps; ++i) sum += std::abs(int{weights[output * taps + i]});
    if (sum * largest_input(layer) >= kWinograd16Limit) return false;
  }
  return true;
}

Winograd16::Winograd16(const TileLayer& layer, int threads, const Winograd16Kernels& kernels)
    : layer_(layer),
      kernels_(kernels),
      shape_(winograd_shape(4, layer.grid, layer.channels, layer.outputs)),
      images_(static_cast<std::size_t>(layer.images)),
      threads_(threads),
      blocks_(tiles(),
              kWinograd16Planes *
                  (input_stride() * sizeof(std::int16_t) + product_stride() * sizeof(std::int32_t)),
              threads) {}

std::size_t Winograd16::input_stride() const {
  return rounded_up(shape_.channels, kWinograd16Channels);
}

std::size_t Winograd16::product_stride() const {
  return rounded_up(shape_.outputs, kWinograd16Columns);
}

std::size_t Winograd16::input_plane() const {
  return blocks_.most_tiles() * input_stride() + kLineOfInputs;
}

std::size_t Winograd16::product_plane() const {
  return blocks_.most_tiles() * product_stride() + kLineOfProducts;
}

std::size_t Winograd16::filter_numbers() const {
  return kWinograd16Planes * (product_stride() / kWinograd16Columns) * panel_numbers();
}

std::size_t Winograd16::weight_bytes() const {
  const std::size_t arrays = takes_floats() ? kWinograd16Planes + 1 : 2;
  return filter_numbers() * sizeof(std::int16_t) + arrays * product_stride() * sizeof(float);
}

// Threads that share a block transform tiles at the same time.
std::size_t Winograd16::threads_of_workspace() const {
  return blocks_.workspaces() > 1 ? 1 : static_cast<std::size_t>(threads_);
}

std::size_t Winograd16::bytes_of_workspace() const {
  std::size_t bytes = kWinograd16Planes * (input_plane() * sizeof(std::int16_t) +
                                           product_plane() * sizeof(std::int32_t));
  if (!takes_floats()) return bytes;
  bytes += kWinograd16Planes * sizeof(float) *
           (rounded_up(blocks_.most_tiles(), kCacheLine) + threads_of_workspace() * input_stride());
  return bytes;
}

std::size_t Winograd16::workspace_bytes() const {
  return bytes_of_workspace() * blocks_.workspaces();
}

Winograd16::Between Winograd16::between(std::byte* workspace) const {
  Between at;
  at.inputs = reinterpret_cast<std::int16_t*>(workspace);
  workspace += kWinograd16Planes * input_plane() * sizeof(std::int16_t);
  at.products = reinterpret_cast<std::int32_t*>(workspace);
  workspace += kWinograd16Planes * product_plane() * sizeof(std::int32_t);
  at.scales = reinterpret_cast<float*>(workspace);
  at.transformed = at.scales + kWinograd16Planes * rounded_up(blocks_.most_tiles(), kCacheLine);
  return at;
}

const float* Winograd16::constants(const void* packed) const {
  return reinterpret_cast<const float*>(static_cast<const std::int16_t*>(packed) +
                                        filter_numbers());
}

std::int64_t Winograd16::flops() const {
  const auto channels = static_cast<std::int64_t>(shape_.channels);
  const auto outputs = static_cast<std::int64_t>(shape_.outputs);
  const std::int64_t of_tile =
      2 * static_cast<std::int64_t>(kWinograd16Planes) * channels * outputs +
      input_transform_flops(4) * channels + output_transform_flops(4) * outputs;
  return static_cast<std::int64_t>(tiles()) * of_tile;
}

// --- weights

void Winograd16::pack_integers(const std::int8_t* weights, std::size_t output,
                               std::int16_t* packed) const {
  const std::size_t plane = filter_numbers() / kWinograd16Planes;
  for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
    double values[kWinograd16Planes];
    transform_filter(kWinograd16Filter, weights + channel * kFilterTaps, values);
    std::int16_t* to = packed + packed_at(output, channel, panel_numbers());
    for (std::size_t i = 0; i < kWinograd16Planes; ++i)
      to[i * plane] = static_cast<std::int16_t>(values[i]);
  }
}

void Winograd16::pack_floats(const float* weights, std::size_t output, std::int16_t* packed,
                             float* scales) const {
  const std::size_t plane = filter_numbers() / kWinograd16Planes;
  std::vector<double> values(shape_.channels * kWinograd16Planes);
  for (std::size_t channel = 0; channel < shape_.channels; ++channel)
    transform_filter(kFilterOfFour, weights + channel * kFilterTaps,
                     values.data() + channel * kWinograd16Planes);
  for (std::size_t i = 0; i < kWinograd16Planes; ++i) {
    double squares = 0, largest = 0;
    for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
      const double value = values[channel * kWinograd16Planes + i];
      squares += value * value;
      largest = std::max(largest, std::abs(value));
    }
    // What 1 stands for, so that neither the norm nor any number is too large.
    const double stands_for =
        std::max(std::sqrt(squares) / static_cast<double>(kWinograd16FilterNorm),
                 largest / std::numeric_limits<std::int16_t>::max());
    scales[i * product_stride() + output] = static_cast<float>(stands_for);
    if (!(stands_for > 0) || !std::isfinite(stands_for)) continue;
    for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
      packed[i * plane + packed_at(output, channel, panel_numbers())] = static_cast<std::int16_t>(
          std::nearbyint(values[channel * kWinograd16Planes + i] / stands_for));
    }
  }
}

void Winograd16::pack(const TileParameters& parameters, std::byte* packed) const {
  std::fill_n(packed, weight_bytes(), std::byte{0});
  auto* filters = reinterpret_cast<std::int16_t*>(packed);
  auto* arrays = const_cast<float*>(constants(packed));
  const std::size_t taps = shape_.channels * kFilterTaps;
  execute::for_each_in_parallel(threads_, shape_.outputs, [&](std::size_t output) {
    if (takes_floats()) {
      const auto* weights = static_cast<const float*>(parameters.weights) + output * taps;
      return pack_floats(weights, output, filters, arrays);
    }
    pack_integers(static_cast<const std::int8_t*>(parameters.weights) + output * taps, output,
                  filters);
  });
  if (takes_floats()) arrays += kWinograd16Planes * product_stride();
  const std::size_t bytes = shape_.outputs * sizeof(float);
  if (parameters.bias != nullptr) std::memcpy(arrays, parameters.bias, bytes);
  if (parameters.scales != nullptr && !takes_floats())
    std::memcpy(arrays + product_stride(), parameters.scales, bytes);
}

// --- runs

void Winograd16::transform_inputs(const TileOperands& operands, const TileBlock& block,
                                  const Between& at) const {
  const auto* source = static_cast<const std::byte*>(operands.source);
  // A part for each thread, which has its own place for what is not rounded yet.
  const auto parts = static_cast<std::size_t>(block.threads);
  execute::for_each_in_parallel(block.threads, parts, [&](std::size_t part) {
    const std::size_t from = block.count * part / parts;
    const std::size_t to = block.count * (part + 1) / parts;
    const Winograd16Inputs inputs{
        .inputs = at.inputs + from * input_stride(),
        .row_stride = input_stride(),
        .plane_stride = input_plane(),
        .scales = takes_floats() ? at.scales + from * kWinograd16Planes : nullptr,
        .workspace =
            takes_floats() ? at.transformed + part * kWinograd16Planes * input_stride() : nullptr};
    if (takes_floats()) {
      kernels_.input_bf16(shape_, source, block.first + from, block.first + to, inputs);
    } else {
      kernels_.input_8_bit(shape_, source, layer_.type, layer_.source_zero_point,
                           block.first + from, block.first + to, inputs);
    }
  });
}

void Winograd16::multiply(const TileOperands& operands, const TileBlock& block,
                          const Between& at) const {
  const auto* filters = static_cast<const std::int16_t*>(operands.weights);
  const std::size_t panels = product_stride() / kWinograd16Columns;
  in_parts(block.threads, kWinograd16Planes * panels, [&](std::size_t from, std::size_t to) {
    for (std::size_t part = from; part < to; ++part) {
      const std::size_t plane = part / panels;
      const std::int16_t* panel = filters + part * panel_numbers();
      kernels_.product(
          {.rows = at.inputs + plane * input_plane(),
           .count = block.count,
           .stride = input_stride(),
           .panel = panel,
           .pairs = pairs(),
           .products = at.products + plane * product_plane() + part % panels * kWinograd16Columns,
           .products_stride = product_stride(),
           .upcoming = {reinterpret_cast<const float*>(panel + panel_numbers()),
                        panel_numbers() * sizeof(std::int16_t) / sizeof(float)}});
    }
  });
}

void Winograd16::write_results(const TileOperands& operands, const TileBlock& block,
                               const Between& at) const {
  const float* arrays = constants(operands.weights);
  const float* filter_scales = arrays;
  if (takes_floats()) arrays += kWinograd16Planes * product_stride();
  TileEpilogue epilogue = layer_.epilogue;
  epilogue.bias = arrays;
  epilogue.scales = arrays + product_stride();
  epilogue.addend = static_cast<const std::byte*>(operands.addend);
  auto* results = static_cast<std::byte*>(operands.result);
  in_parts(block.threads, block.count, [&](std::size_t from, std::size_t to) {
    const Winograd16Products products{.products = at.products + from * product_stride(),
                                      .row_stride = product_stride(),
                                      .plane_stride = product_plane(),
                                      .scales = at.scales + from * kWinograd16Planes,
                                      .filter_scales = filter_scales};
    const auto write = takes_floats() ? kernels_.output_bf16 : kernels_.output_8_bit;
    write(shape_, products, block.first + from, block.first + to, epilogue, results);
  });
}

void Winograd16::run(const TileOperands& operands) const {
  blocks_.for_each([&](const TileBlock& block) {
    const Between at = between(static_cast<std::byte*>(operands.workspace) +
                               block.workspace * bytes_of_workspace());
    transform_inputs(operands, block, at);
    multiply(operands, block, at);
    write_results(operands, block, at);
  });
}

}  // namespace assay::cpu
