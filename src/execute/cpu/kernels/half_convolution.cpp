#include "execute/cpu/kernels/half_convolution.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;

namespace {

// Depth that is multiplied before the next: a panel of it stays in a core's nearest cache.
constexpr std::size_t kPatchDepthAtOnce = 256;
// Rows that fill the registers; sums of a block of rows stay in a core's own cache.
constexpr std::size_t kRowsTogether = 14;
constexpr std::size_t kSumsInBlock = std::size_t{64} << 10;

std::size_t as_size(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace

HalfConvolution::HalfConvolution(const HalfLayer& layer, std::vector<ProductFinish> finish,
                                 int threads, const SimdKernels& kernels)
    : kernels_(kernels),
      layer_(layer),
      finish_(std::move(finish), layer.result, kernels),
      threads_(threads),
      rows_(layer.images * as_size(layer.grid.output_elements())),
      depth_(layer.channels * as_size(layer.grid.taps())) {
  const std::size_t columns = panels() * kernels_.panel_width;
  const std::size_t groups =
      std::clamp(kSumsInBlock / columns / kRowsTogether, std::size_t{1}, std::size_t{8});
  blocks_ = (rows_ + groups * kRowsTogether - 1) / (groups * kRowsTogether);
  const auto team = as_size(threads);
  if (rows_ >= team * kRowsTogether) blocks_ = (blocks_ + team - 1) / team * team;
  blocks_ = std::min(blocks_, rows_);
  rows_in_block_ = (rows_ + blocks_ - 1) / blocks_;
  parts_of_block_ = std::min(panels(), (team + blocks_ - 1) / blocks_);
  panels_in_part_ = (panels() + parts_of_block_ - 1) / parts_of_block_;
}

std::size_t HalfConvolution::weight_floats() const {
  return (panels() * kernels_.panel_width * depth_ + 1) / 2;
}

std::size_t HalfConvolution::workspace_of_part() const {
  constexpr std::size_t kScale = 1;
  return rows_in_block_ * (std::min(depth_, kPatchDepthAtOnce) + kScale + row_stride());
}

std::size_t HalfConvolution::workspace_floats() const {
  return workspace_of_part() * std::min(as_size(threads_), blocks_ * parts_of_block_);
}

std::int64_t HalfConvolution::flops() const {
  const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  return saturating_multiply(
      2, saturating_multiply(size(rows_), saturating_multiply(size(depth_), size(layer_.outputs))));
}

// Panel by panel, all depth of each: tap by tap, the channels of each.
template <typename WeightAt>
void HalfConvolution::pack(const WeightAt& weight_at, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  auto* halves = reinterpret_cast<std::uint16_t*>(packed);
  execute::for_each_in_parallel(threads_, panels(), [&](std::size_t panel) {
    std::vector<float> row(width);
    const std::size_t count = std::min(width, layer_.outputs - panel * width);
    for (std::size_t i = 0; i < depth_; ++i) {
      for (std::size_t j = 0; j < count; ++j) row[j] = weight_at(panel * width + j, i);
      kernels_.narrow(layer_.weights, row.data(), halves + (panel * depth_ + i) * width, width);
    }
  });
}

void HalfConvolution::pack_weights(const float* weights, float* packed) const {
  const std::size_t taps = depth_ / layer_.channels;
  pack(
      [&](std::size_t output, std::size_t i) {
        return weights[output * depth_ + i % layer_.channels * taps + i / layer_.channels];
      },
      packed);
}

void HalfConvolution::pack_transposed(const float* weights, float* packed) const {
  pack([&](std::size_t output, std::size_t i) { return weights[i * layer_.outputs + output]; },
       packed);
}

// Neighbouring taps of a row of the kernel that see neighbouring pixels lie side by side.
void HalfConvolution::copy_taps(const float* source, std::size_t at, std::size_t count,
                                float* to) const {
  if (layer_.source) {
    kernels_.widen(*layer_.source, reinterpret_cast<const std::uint16_t*>(source) + at, to, count);
  } else {
    std::copy_n(source + at, count, to);
  }
}

void HalfConvolution::copy_taps(const float* source, std::size_t at, std::size_t count,
                                std::uint16_t* to) const {
  std::copy_n(reinterpret_cast<const std::uint16_t*>(source) + at, count, to);
}

// `size` numbers of the patch that a result sees, from `start` on; what lies outside is zero.
template <typename Number>
void HalfConvolution::copy_patch(const float* source, std::size_t row, std::size_t start,
                                 std::size_t size, Number* patch) const {
  const auto& [deep, down, across] = layer_.grid.axes;
  const auto windows = as_size(layer_.grid.output_elements());
  const auto window = static_cast<std::int64_t>(row % windows);
  const std::int64_t x = window % across.output;
  const std::int64_t y = window / across.output % down.output;
  const std::int64_t z = window / across.output / down.output;
  const std::size_t image = row / windows * as_size(layer_.grid.input_elements());
  while (size > 0) {
    const auto tap = static_cast<std::int64_t>(start / layer_.channels);
    const std::size_t channel = start % layer_.channels;
    const std::int64_t tap_x = tap % across.kernel;
    const std::int64_t at_z = deep.position(z, tap / across.kernel / down.kernel);
    const std::int64_t at_y = down.position(y, tap / across.kernel % down.kernel);
    const std::int64_t at_x = across.position(x, tap_x);
    const bool is_inside = at_z >= 0 && at_z < deep.input && at_y >= 0 && at_y < down.input;
    std::int64_t taps = 1;  // that are copied together
    if (across.dilation == 1 && is_inside && at_x >= 0)
      taps = std::clamp<std::int64_t>(across.input - at_x, 1, across.kernel - tap_x);
    const std::size_t count = std::min(size, as_size(taps) * layer_.channels - channel);
    if (is_inside && at_x >= 0 && at_x < across.input) {
      const std::int64_t pixel = (at_z * down.input + at_y) * across.input + at_x;
      copy_taps(source, (image + as_size(pixel)) * layer_.channels + channel, count, patch);
    } else {
      std::fill_n(patch, count, Number{0});
    }
    patch += count;
    start += count;
    size -= count;
  }
}

HalfConvolution::Part HalfConvolution::part(std::size_t index) const {
  const std::size_t block = index / parts_of_block_;
  const std::size_t among = index % parts_of_block_;
  const std::size_t first = rows_ * block / blocks_;
  return {.first_row = first,
          .rows = rows_ * (block + 1) / blocks_ - first,
          .first_panel = panels() * among / parts_of_block_,
          .last_panel = panels() * (among + 1) / parts_of_block_};
}

void HalfConvolution::multiply(const ConvolutionOperands& operands, const Part& part,
                               float* workspace) const {
  const std::size_t width = kernels_.panel_width;
  const auto* weights = reinterpret_cast<const std::uint16_t*>(operands.weights);
  float* patches = workspace + rows_in_block_ * row_stride();
  for (std::size_t start = 0; start < depth_; start += kPatchDepthAtOnce) {
    const std::size_t size = std::min(kPatchDepthAtOnce, depth_ - start);
    for (std::size_t row = 0; row < part.rows; ++row)
      copy_patch(operands.source, part.first_row + row, start, size, patches + row * size);
    for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
      const std::uint16_t* present = weights + (panel * depth_ + start) * width;
      const bool is_last = panel + 1 == part.last_panel;
      const std::uint16_t* next = is_last
                                      ? weights + (part.first_panel * depth_ + start + size) * width
                                      : present + depth_ * width;
      kernels_.product_of_halves(layer_.weights, patches, part.rows, size, present, size,
                                 workspace + (panel - part.first_panel) * width, row_stride(),
                                 start > 0,
                                 {reinterpret_cast<const float*>(next), width * size / 2});
    }
  }
}

bool HalfConvolution::may_compute_in_float16() const {
  return layer_.source == HalfFormat::Float16 && layer_.weights == HalfFormat::Float16 &&
         kernels_.panel_width == kFp16Columns;
}

// Patches take half the floats: what is left holds the scales of rows.
void HalfConvolution::multiply_in_float16(const ConvolutionOperands& operands, const Part& part,
                                          float* workspace) const {
  const auto* weights = reinterpret_cast<const std::uint16_t*>(operands.weights);
  float* scales = workspace + rows_in_block_ * row_stride();
  auto* patches = reinterpret_cast<std::uint16_t*>(scales + rows_in_block_);
  for (std::size_t start = 0; start < depth_; start += kPatchDepthAtOnce) {
    const std::size_t size = std::min(kPatchDepthAtOnce, depth_ - start);
    for (std::size_t row = 0; row < part.rows; ++row) {
      std::uint16_t* patch = patches + row * size;
      copy_patch(operands.source, part.first_row + row, start, size, patch);
      scales[row] = fp16_->scale_row(patch, patch, size);
    }
    for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
      fp16_->product({.rows = patches,
                      .count = part.rows,
                      .stride = size,
                      .scales = scales,
                      .panel = weights + (panel * depth_ + start) * kFp16Columns,
                      .depth = size,
                      .sums = workspace + (panel - part.first_panel) * kFp16Columns,
                      .sums_stride = row_stride(),
                      .continues = start > 0});
    }
  }
}

void HalfConvolution::run_part(const ConvolutionOperands& operands, const Part& part,
                               float* workspace) const {
  if (fp16_ != nullptr) {
    multiply_in_float16(operands, part, workspace);
  } else {
    multiply(operands, part, workspace);
  }
  const std::size_t column = part.first_panel * kernels_.panel_width;
  const std::size_t count =
      std::min(part.last_panel * kernels_.panel_width, layer_.outputs) - column;
  for (std::size_t row = 0; row < part.rows; ++row) {
    finish_.finish(operands, (part.first_row + row) * layer_.outputs + column, column, count,
                   workspace + row * row_stride());
  }
}

void HalfConvolution::run(const ConvolutionOperands& operands) const {
  const std::size_t parts = blocks_ * parts_of_block_;
  const std::size_t team = std::min(as_size(threads_), parts);
  execute::for_each_in_parallel(static_cast<int>(team), team, [&](std::size_t thread) {
    float* workspace = operands.workspace + thread * workspace_of_part();
    const std::size_t last = parts * (thread + 1) / team;
    for (std::size_t i = parts * thread / team; i < last; ++i)
      run_part(operands, part(i), workspace);
  });
}

}  // namespace assay::cpu
