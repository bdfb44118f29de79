#include "execute/cpu/kernels/half_convolution.h"

#include <algorithm>

#include "base/checked.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowTap;

namespace {

// Rows that fill the registers, and those that pass a panel before the next: it is widened once for
// all of them.
constexpr std::size_t kRowsTogether = 14;
constexpr std::size_t kMostRowsInBlock = 8 * kRowsTogether;
// Panels whose sums are finished together.
constexpr std::size_t kPanelsTogether = 8;
// A panel that so many rows pass is worth widening; a deeper one would not stay in the cache, and
// small ones are widened by the product itself.
constexpr std::size_t kRowsWorthWidening = 4 * kRowsTogether;
constexpr std::size_t kMostWidenedDepth = 1024;

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
  const std::size_t groups =
      std::clamp(layer_.patch_floats / depth_, kRowsTogether, kMostRowsInBlock) / kRowsTogether;
  blocks_ = (rows_ + groups * kRowsTogether - 1) / (groups * kRowsTogether);
  const auto team = as_size(threads);
  if (rows_ >= team * kRowsTogether) blocks_ = (blocks_ + team - 1) / team * team;
  blocks_ = std::min(blocks_, rows_);
  rows_in_block_ = (rows_ + blocks_ - 1) / blocks_;
  parts_of_block_ = std::min(panels(), (team + blocks_ - 1) / blocks_);
}

std::size_t HalfConvolution::row_stride() const {
  return std::min(kPanelsTogether, panels()) * kernels_.panel_width;
}

// Rows a power of two apart would compete for the same lines of the cache.
std::size_t HalfConvolution::patch_stride() const {
  constexpr std::size_t kLineFloats = 16;
  return depth_ + kLineFloats;
}

std::size_t HalfConvolution::weight_floats() const {
  return (panels() * kernels_.panel_width * depth_ + 1) / 2;
}

bool HalfConvolution::widens_panels() const {
  return rows_in_block_ >= kRowsWorthWidening && depth_ <= kMostWidenedDepth;
}

std::size_t HalfConvolution::workspace_of_part() const {
  constexpr std::size_t kScale = 1;
  return rows_in_block_ * (row_stride() + patch_stride() + kScale) +
         (widens_panels() ? depth_ * kernels_.panel_width : 0);
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

// The patch that a result sees; what lies outside is zero.
template <typename Number>
void HalfConvolution::copy_patch(const float* source, std::size_t row, Number* patch) const {
  const auto& [deep, down, across] = layer_.grid.axes;
  const auto windows = as_size(layer_.grid.output_elements());
  const auto window = static_cast<std::int64_t>(row % windows);
  const std::int64_t x = window % across.output;
  const std::int64_t y = window / across.output % down.output;
  const std::int64_t z = window / across.output / down.output;
  const std::size_t image = row / windows * as_size(layer_.grid.input_elements());
  const Number* end = patch + depth_;
  WindowTap tap = {};
  while (patch != end) {
    const std::int64_t at_z = deep.position(z, tap[0]);
    const std::int64_t at_y = down.position(y, tap[1]);
    const std::int64_t at_x = across.position(x, tap[2]);
    const bool is_inside = at_z >= 0 && at_z < deep.input && at_y >= 0 && at_y < down.input;
    std::int64_t taps = 1;  // that are copied together
    if (across.dilation == 1 && is_inside && at_x >= 0)
      taps = std::clamp<std::int64_t>(across.input - at_x, 1, across.kernel - tap[2]);
    const std::size_t count = as_size(taps) * layer_.channels;
    if (is_inside && at_x >= 0 && at_x < across.input) {
      const std::int64_t pixel = (at_z * down.input + at_y) * across.input + at_x;
      copy_taps(source, (image + as_size(pixel)) * layer_.channels, count, patch);
    } else {
      std::fill_n(patch, count, Number{0});
    }
    patch += count;
    tap[2] += taps;
    if (tap[2] == across.kernel) tap[2] = 0, ++tap[1];
    if (tap[1] == down.kernel) tap[1] = 0, ++tap[0];
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

bool HalfConvolution::may_compute_in_float16() const {
  return layer_.source == HalfFormat::Float16 && layer_.weights == HalfFormat::Float16 &&
         kernels_.panel_width == kFp16Columns;
}

// As floats or, to compute in float16, as they are: the scales of rows, then the rows.
void HalfConvolution::copy_patches(const float* source, const Part& part, float* patches) const {
  auto* halves = reinterpret_cast<std::uint16_t*>(patches + rows_in_block_);
  for (std::size_t row = 0; row < part.rows; ++row) {
    if (fp16_ == nullptr) {
      copy_patch(source, part.first_row + row, patches + row * patch_stride());
    } else {
      std::uint16_t* patch = halves + row * patch_stride();
      copy_patch(source, part.first_row + row, patch);
      patches[row] = fp16_->scale_row(patch, patch, depth_);
    }
  }
}

void HalfConvolution::multiply(const float* patches, const float* weights, const Part& part,
                               float* sums) const {
  const std::size_t width = kernels_.panel_width;
  const std::size_t size = depth_ * width;
  float* wide = sums + rows_in_block_ * (row_stride() + patch_stride());
  for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
    const auto* present = reinterpret_cast<const std::uint16_t*>(weights) + panel * size;
    if (widens_panels()) {
      kernels_.widen(layer_.weights, present, wide, size);
      kernels_.panel_product(patches, part.rows, patch_stride(), wide, depth_,
                             sums + (panel - part.first_panel) * width, row_stride(),
                             {reinterpret_cast<const float*>(present + size), size / 2});
      continue;
    }
    kernels_.product_of_halves(layer_.weights, patches, part.rows, patch_stride(), present, depth_,
                               sums + (panel - part.first_panel) * width, row_stride(),
                               /*continues=*/false,
                               {reinterpret_cast<const float*>(present + size), size / 2});
  }
}

void HalfConvolution::multiply_in_float16(const float* patches, const float* weights,
                                          const Part& part, float* sums) const {
  const auto* rows = reinterpret_cast<const std::uint16_t*>(patches + rows_in_block_);
  for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
    fp16_->product(
        {.rows = rows,
         .count = part.rows,
         .stride = patch_stride(),
         .scales = patches,
         .panel = reinterpret_cast<const std::uint16_t*>(weights) + panel * depth_ * kFp16Columns,
         .depth = depth_,
         .sums = sums + (panel - part.first_panel) * kFp16Columns,
         .sums_stride = row_stride()});
  }
}

void HalfConvolution::finish(const ConvolutionOperands& operands, const Part& part,
                             float* sums) const {
  const std::size_t column = part.first_panel * kernels_.panel_width;
  const std::size_t count =
      std::min(part.last_panel * kernels_.panel_width, layer_.outputs) - column;
  for (std::size_t row = 0; row < part.rows; ++row) {
    finish_.finish(operands, (part.first_row + row) * layer_.outputs + column, column, count,
                   sums + row * row_stride());
  }
}

void HalfConvolution::run_part(const ConvolutionOperands& operands, const Part& part,
                               float* workspace) const {
  float* patches = workspace + rows_in_block_ * row_stride();
  copy_patches(operands.source, part, patches);
  for (std::size_t panel = part.first_panel; panel < part.last_panel; panel += kPanelsTogether) {
    Part some = part;
    some.first_panel = panel;
    some.last_panel = std::min(panel + kPanelsTogether, part.last_panel);
    if (fp16_ != nullptr) {
      multiply_in_float16(patches, operands.weights, some, workspace);
    } else {
      multiply(patches, operands.weights, some, workspace);
    }
    finish(operands, some, workspace);
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
