#include "execute/cpu/kernels/tile_convolution.h"

#include <algorithm>
#include <cstring>

#include "base/as_size.h"
#include "base/round.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// Of all axes together.
std::int64_t elements(const WindowGrid& grid, std::int64_t WindowAxis::*of_axis) {
  std::int64_t product = 1;
  for (const WindowAxis& axis : grid.axes) product *= axis.*of_axis;
  return product;
}

std::uint16_t rounded_to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

bool is_padded(const WindowAxis& axis) {
  return axis.pad_begin > 0 ||
         (axis.output - 1) * axis.stride + axis.extent() > axis.input + axis.pad_begin;
}

std::size_t bytes_of_number(TileNumber type) {
  switch (type) {
    case TileNumber::U8:
    case TileNumber::S8:
      return 1;
    case TileNumber::BF16:
      return 2;
    default:
      return 4;
  }
}

std::size_t divided_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// Rows that may be a thread's first: those where a row of windows begins, or a block.
std::size_t rows_to_divide(const TileProduct& product) {
  return product.used < product.period ? product.period : 2 * kTileRows;
}

// Threads share either the rows or the columns. By columns each of them reads all rows, what
// another has just written among them, and writes parts of the same lines; by rows each reads all
// weights.
bool divides_rows(const TileProduct& product, std::size_t threads) {
  const std::size_t parts = divided_up(product.row_count, rows_to_divide(product));
  const bool is_even = divided_up(parts, threads) * threads * 15 <= parts * 16;
  const std::size_t weights =
      tile_weight_bytes(product.columns, product.chunks, product.chunk_bytes);
  return is_even && weights <= product.row_count * (product.row_stride + product.result_stride);
}

TileProduct rows_of(TileProduct product, std::size_t first, std::size_t last) {
  const std::size_t result = first / product.period * product.used + first % product.period;
  product.rows += first * product.row_stride;
  product.row_count = std::min(last, product.row_count) - first;
  product.results += result * product.result_stride;
  if (product.epilogue.addend != nullptr)
    product.epilogue.addend +=
        result * product.columns * bytes_of_number(product.epilogue.addend_type);
  return product;
}

// Rows of a window whose taps are neighbours are read in one go.
bool taps_lie_together(const WindowAxis& across) {
  return across.dilation == 1 || across.kernel == 1;
}

}  // namespace

TileLayer tile_matrix_product(std::int64_t m, std::int64_t k, std::int64_t n, TileType type) {
  TileLayer layer{.grid = {}, .channels = k, .outputs = n, .type = type, .epilogue = {}};
  layer.grid.rank = 1;
  layer.grid.axes[2].input = m;
  layer.grid.axes[2].output = m;
  return layer;
}

bool TileConvolution::fits(const WindowGrid& grid, std::int64_t groups) {
  const WindowAxis& deep = grid.axes[0];
  const auto is_forward = [](const WindowAxis& axis) {
    return axis.output > 0 && axis.pad_begin >= 0;
  };
  return groups == 1 && deep.input == 1 && deep.output == 1 && deep.kernel == 1 &&
         deep.pad_begin == 0 && std::ranges::all_of(grid.axes, is_forward);
}

TileConvolution::TileConvolution(const TileLayer& layer, int threads, const TileKernels& kernels)
    : layer_(layer),
      threads_(threads),
      kernels_(kernels),
      images_(as_size(layer.images)),
      channels_(as_size(layer.channels)),
      outputs_(as_size(layer.outputs)),
      number_bytes_(layer.type == TileType::BF16 ? 2 : 1) {
  const auto& [deep, down, across] = layer_.grid.axes;
  run_bytes_ = channels_ * number_bytes_;
  if (taps_lie_together(across)) run_bytes_ *= as_size(across.kernel);
  chunk_bytes_ = std::min(kTileBytes, rounded_up(run_bytes_, std::size_t{4}));
  chunks_per_run_ = (run_bytes_ + chunk_bytes_ - 1) / chunk_bytes_;
  // Whole words are loaded, which may be more than there is behind the last pixel.
  const bool reads_too_much = run_bytes_ < chunk_bytes_;
  copies_ = reads_too_much || is_padded(down) || is_padded(across) || down.stride > 1 ||
            across.stride > 1;
  plan_copy();
  plan_runs();
  const auto team = as_size(std::max(1, threads_));
  const bool divides_evenly = images_ % team == 0 || images_ >= 4 * team;
  shares_workspace_ = team == 1 || !divides_evenly;
}

void TileConvolution::plan_copy() {
  const auto& [deep, down, across] = layer_.grid.axes;
  if (!copies_) {
    pitch_ = as_size(across.input);
    return;
  }
  // Windows one pixel wide need no pixels between them.
  const bool is_narrow = across.kernel == 1;
  column_step_ = is_narrow ? 1 : as_size(across.stride);
  pitch_ = is_narrow ? as_size(across.output)
                     : rounded_up(as_size((across.output - 1) * across.stride + across.extent()),
                                  column_step_);
  for (std::int64_t tap = 0; tap < down.kernel; ++tap) {
    const auto phase = as_size(tap * down.dilation % down.stride);
    if (std::ranges::find(planes_, phase) == planes_.end()) planes_.push_back(phase);
  }
  plane_rows_ = as_size(down.output + (down.kernel - 1) * down.dilation / down.stride);
}

void TileConvolution::plan_runs() {
  const auto& [deep, down, across] = layer_.grid.axes;
  const std::size_t pixel = channels_ * number_bytes_;
  const std::size_t taps = taps_lie_together(across) ? as_size(across.kernel) : 1;
  for (std::size_t row = 0; row < as_size(down.kernel); ++row) {
    const std::size_t at = row * as_size(down.dilation);
    std::size_t image_row = at;
    if (copies_) {
      const auto plane = std::ranges::find(planes_, at % as_size(down.stride)) - planes_.begin();
      image_row = as_size(plane) * plane_rows_ + at / as_size(down.stride);
    }
    for (std::size_t column = 0; column < as_size(across.kernel); column += taps) {
      const std::size_t image_column = column * as_size(across.dilation);
      runs_.push_back({row, column, taps, (image_row * pitch_ + image_column) * pixel});
    }
  }
  for (const Run& run : runs_) {
    for (std::size_t chunk = 0; chunk < chunks_per_run_; ++chunk) {
      offsets_.push_back(run.offset + std::min(chunk * chunk_bytes_, last_chunk_offset()));
    }
  }
}

// The last chunk ends with the run: it overlaps the one before, where its weights are zero.
std::size_t TileConvolution::last_chunk_offset() const {
  return run_bytes_ < chunk_bytes_ ? 0 : run_bytes_ - chunk_bytes_;
}

bool TileConvolution::is_one_matrix() const {
  const auto covers_all = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.output == axis.input;
  };
  return !copies_ && std::ranges::all_of(layer_.grid.axes, covers_all);
}

std::size_t TileConvolution::padded_outputs() const {
  return rounded_up(outputs_, kTileColumns);
}

std::size_t TileConvolution::image_bytes() const {
  return as_size(elements(layer_.grid, &WindowAxis::input)) * channels_ * number_bytes_;
}

std::size_t TileConvolution::copy_bytes() const {
  const std::size_t bytes = planes_.size() * plane_rows_ * pitch_ * channels_ * number_bytes_;
  return rounded_up(bytes + kTileBytes, kTileBytes);  // what is read beyond the last pixel
}

std::size_t TileConvolution::weight_bytes() const {
  const std::size_t constants = 2 * padded_outputs() * sizeof(float);  // bias and scales
  return tile_weight_bytes(outputs_, offsets_.size(), chunk_bytes_) + constants;
}

std::size_t TileConvolution::workspace_bytes() const {
  if (!copies_) return 0;
  return copy_bytes() * (shares_workspace_ ? 1 : as_size(threads_));
}

std::int64_t TileConvolution::flops() const {
  const std::size_t depth = offsets_.size() * chunk_bytes_ / number_bytes_;
  return 2 * layer_.images * elements(layer_.grid, &WindowAxis::output) * layer_.outputs *
         static_cast<std::int64_t>(depth);
}

// --- weights

void TileConvolution::pack_run(const TileParameters& parameters, std::size_t run,
                               std::size_t output, std::byte* packed) const {
  const Run& place = runs_[run];
  const WindowAxis& across = layer_.grid.axes[2];
  const auto kernel = as_size(elements(layer_.grid, &WindowAxis::kernel));
  std::size_t tap = place.row * as_size(across.kernel) + place.column;
  std::size_t channel = 0;
  for (std::size_t chunk = 0; chunk < chunks_per_run_; ++chunk) {
    const std::size_t begin = chunk * chunk_bytes_;
    const std::size_t offset = std::min(begin, last_chunk_offset());
    std::byte* tile = packed + tile_weight_at(outputs_, offsets_.size(), chunk_bytes_, output,
                                              run * chunks_per_run_ + chunk, 0);
    for (std::size_t byte = begin; byte < std::min(begin + chunk_bytes_, run_bytes_);
         byte += number_bytes_) {
      const std::size_t depth = byte - offset;
      const std::size_t from = parameters.are_transposed
                                   ? channel * outputs_ + output
                                   : (output * channels_ + channel) * kernel + tap;
      put_weight(parameters, from, tile + depth / 4 * kTileBytes + depth % 4);
      if (++channel == channels_) {
        channel = 0;
        ++tap;
      }
    }
  }
}

void TileConvolution::put_weight(const TileParameters& parameters, std::size_t from,
                                 std::byte* to) const {
  if (layer_.type == TileType::BF16) {
    const auto number = rounded_to_bf16(static_cast<const float*>(parameters.weights)[from]);
    std::memcpy(to, &number, sizeof(number));
  } else {
    *to = static_cast<std::byte>(static_cast<const std::int8_t*>(parameters.weights)[from]);
  }
}

// Bias, then scales; the zero point's share of the sums is subtracted from the bias.
void TileConvolution::pack_constants(const TileParameters& parameters, std::byte* packed) const {
  const std::size_t depth = channels_ * as_size(elements(layer_.grid, &WindowAxis::kernel));
  std::byte* bias = packed + tile_weight_bytes(outputs_, offsets_.size(), chunk_bytes_);
  std::byte* scales = bias + padded_outputs() * sizeof(float);
  if (parameters.bias != nullptr) std::memcpy(bias, parameters.bias, outputs_ * sizeof(float));
  if (parameters.scales != nullptr)
    std::memcpy(scales, parameters.scales, outputs_ * sizeof(float));
  if (layer_.type == TileType::BF16 || layer_.source_zero_point == 0) return;
  const auto* weights = static_cast<const std::int8_t*>(parameters.weights);
  for (std::size_t output = 0; output < outputs_; ++output) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < depth; ++i)
      sum += weights[parameters.are_transposed ? i * outputs_ + output : output * depth + i];
    std::int32_t number = 0;
    std::memcpy(&number, bias + output * sizeof(number), sizeof(number));
    number -= layer_.source_zero_point * sum;
    std::memcpy(bias + output * sizeof(number), &number, sizeof(number));
  }
}

void TileConvolution::pack(const TileParameters& parameters, std::byte* packed) const {
  std::fill_n(packed, weight_bytes(), std::byte{0});
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    for (std::size_t output = 0; output < outputs_; ++output)
      pack_run(parameters, run, output, packed);
  }
  pack_constants(parameters, packed);
}

// --- runs

TileProduct TileConvolution::product(const TileOperands& operands, const std::byte* rows) const {
  const auto& [deep, down, across] = layer_.grid.axes;
  TileProduct what;
  what.type = layer_.type;
  what.rows = rows;
  what.row_stride = column_step_ * channels_ * number_bytes_;
  what.used = as_size(across.output);
  what.period = pitch_ / column_step_;
  what.row_count = as_size(down.output - 1) * what.period + what.used;
  if (is_one_matrix()) what.row_count *= images_;
  what.offsets = offsets_.data();
  what.chunks = offsets_.size();
  what.chunk_bytes = chunk_bytes_;
  what.reads_rows_once = runs_.size() == 1;
  what.weights = static_cast<const std::byte*>(operands.weights);
  what.columns = outputs_;
  what.epilogue = layer_.epilogue;
  const std::byte* bias = what.weights + tile_weight_bytes(outputs_, offsets_.size(), chunk_bytes_);
  what.epilogue.bias = bias;
  what.epilogue.scales = reinterpret_cast<const float*>(bias + padded_outputs() * sizeof(float));
  what.epilogue.addend = static_cast<const std::byte*>(operands.addend);
  what.results = static_cast<std::byte*>(operands.result);
  what.result_stride = outputs_ * bytes_of_number(layer_.epilogue.result);
  return what;
}

void TileConvolution::fill_copy_row(const std::byte* image, std::size_t plane, std::size_t row,
                                    std::byte* copy) const {
  const auto& [deep, down, across] = layer_.grid.axes;
  const std::size_t pixel = channels_ * number_bytes_;
  std::byte* to = copy + (plane * plane_rows_ + row) * pitch_ * pixel;
  const auto border = static_cast<unsigned char>(layer_.source_zero_point);
  const auto y =
      static_cast<std::int64_t>(planes_[plane] + row * as_size(down.stride)) - down.pad_begin;
  if (y < 0 || y >= down.input) {
    std::memset(to, border, pitch_ * pixel);
    return;
  }
  const std::byte* from = image + as_size(y * across.input) * pixel;
  if (across.kernel == 1 && across.stride > 1) {
    for (std::size_t i = 0; i < pitch_; ++i) {
      const std::int64_t x = across.position(static_cast<std::int64_t>(i), 0);
      if (x < 0 || x >= across.input) {
        std::memset(to + i * pixel, border, pixel);
      } else {
        std::memcpy(to + i * pixel, from + as_size(x) * pixel, pixel);
      }
    }
    return;
  }
  const std::size_t left = std::min(pitch_, as_size(across.pad_begin));
  const std::size_t inside = std::min(pitch_ - left, as_size(across.input));
  std::memset(to, border, left * pixel);
  std::memcpy(to + left * pixel, from, inside * pixel);
  std::memset(to + (left + inside) * pixel, border, (pitch_ - left - inside) * pixel);
}

void TileConvolution::copy_image(const std::byte* image, std::byte* copy, int threads) const {
  const std::size_t used = planes_.size() * plane_rows_ * pitch_ * channels_ * number_bytes_;
  std::memset(copy + used, 0, copy_bytes() - used);
  execute::for_each_in_parallel(threads, planes_.size() * plane_rows_, [&](std::size_t i) {
    fill_copy_row(image, i / plane_rows_, i % plane_rows_, copy);
  });
}

void TileConvolution::multiply(const TileProduct& what, int threads) const {
  if (threads > 1 && divides_rows(what, as_size(threads))) {
    const std::size_t rows = rows_to_divide(what);
    const std::size_t parts = divided_up(what.row_count, rows);
    return execute::in_parallel(
        threads, static_cast<std::int64_t>(parts), [&](std::int64_t first, std::int64_t last) {
          const TileProduct part = rows_of(what, as_size(first) * rows, as_size(last) * rows);
          kernels_.multiply(part, 0, tile_blocks(part));
        });
  }
  execute::in_parallel(threads, static_cast<std::int64_t>(tile_blocks(what)),
                       [&](std::int64_t first, std::int64_t last) {
                         kernels_.multiply(what, as_size(first), as_size(last));
                       });
}

void TileConvolution::run_image(const TileOperands& operands, std::size_t image, std::byte* copy,
                                int threads) const {
  const std::byte* rows = static_cast<const std::byte*>(operands.source) + image * image_bytes();
  if (copies_) {
    copy_image(rows, copy, threads);
    rows = copy;
  }
  TileProduct what = product(operands, rows);
  const std::size_t first = image * as_size(elements(layer_.grid, &WindowAxis::output));
  what.results += first * what.result_stride;
  if (what.epilogue.addend != nullptr)
    what.epilogue.addend += first * outputs_ * bytes_of_number(what.epilogue.addend_type);
  multiply(what, threads);
}

void TileConvolution::run(const TileOperands& operands) const {
  auto* workspace = static_cast<std::byte*>(operands.workspace);
  if (is_one_matrix()) {
    return multiply(product(operands, static_cast<const std::byte*>(operands.source)), threads_);
  }
  if (shares_workspace_) {
    for (std::size_t image = 0; image < images_; ++image)
      run_image(operands, image, workspace, threads_);
    return;
  }
  const auto team = as_size(threads_);
  execute::for_each_in_parallel(threads_, team, [&](std::size_t thread) {
    for (std::size_t image = images_ * thread / team; image < images_ * (thread + 1) / team;
         ++image) {
      run_image(operands, image, workspace + (copies_ ? thread * copy_bytes() : 0), 1);
    }
  });
}

}  // namespace assay::cpu
