#include "execute/cpu/kernels/panel_convolution.h"

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

PanelConvolution::PanelConvolution(const PanelLayer& layer, std::vector<ProductFinish> finish,
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

std::size_t PanelConvolution::row_stride() const {
  return std::min(kPanelsTogether, panels()) * kernels_.panel_width;
}

// Rows a power of two apart would compete for the same lines of the cache.
std::size_t PanelConvolution::patch_stride() const {
  constexpr std::size_t kLineFloats = 16;
  return reads_in_place() ? depth_ : depth_ + kLineFloats;
}

bool PanelConvolution::reads_in_place() const {
  return !layer_.source && std::ranges::all_of(layer_.grid.axes, [](const auto& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
  });
}

std::size_t PanelConvolution::copied_floats() const {
  return reads_in_place() ? 0 : rows_in_block_ * patch_stride();
}

std::size_t PanelConvolution::weight_floats() const {
  const std::size_t weights = panels() * kernels_.panel_width * depth_;
  return layer_.weights ? (weights + 1) / 2 : weights;
}

bool PanelConvolution::widens_panels() const {
  return layer_.weights && rows_in_block_ >= kRowsWorthWidening && depth_ <= kMostWidenedDepth;
}

std::size_t PanelConvolution::workspace_of_part() const {
  constexpr std::size_t kScale = 1;
  return rows_in_block_ * (row_stride() + kScale) + copied_floats() +
         (widens_panels() ? depth_ * kernels_.panel_width : 0);
}

std::size_t PanelConvolution::workspace_floats() const {
  return workspace_of_part() * std::min(as_size(threads_), blocks_ * parts_of_block_);
}

std::int64_t PanelConvolution::flops() const {
  const auto size = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  return saturating_multiply(
      2, saturating_multiply(size(rows_), saturating_multiply(size(depth_), size(layer_.outputs))));
}

// Panel by panel, all depth of each: tap by tap, the channels of each.
template <typename WeightAt>
void PanelConvolution::pack(const WeightAt& weight_at, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  execute::for_each_in_parallel(threads_, panels(), [&](std::size_t panel) {
    std::vector<float> row(width);
    const std::size_t count = std::min(width, layer_.outputs - panel * width);
    for (std::size_t i = 0; i < depth_; ++i) {
      for (std::size_t j = 0; j < count; ++j) row[j] = weight_at(panel * width + j, i);
      const std::size_t at = (panel * depth_ + i) * width;
      if (layer_.weights) {
        kernels_.narrow(*layer_.weights, row.data(), reinterpret_cast<std::uint16_t*>(packed) + at,
                        width);
      } else {
        std::ranges::copy(row, packed + at);
      }
    }
  });
}

void PanelConvolution::pack_weights(const float* weights, float* packed) const {
  const std::size_t taps = depth_ / layer_.channels;
  pack(
      [&](std::size_t output, std::size_t i) {
        return weights[output * depth_ + i % layer_.channels * taps + i / layer_.channels];
      },
      packed);
}

void PanelConvolution::pack_transposed(const float* weights, float* packed) const {
  pack([&](std::size_t output, std::size_t i) { return weights[i * layer_.outputs + output]; },
       packed);
}

// Neighbouring taps of a row of the kernel that see neighbouring pixels lie side by side.
void PanelConvolution::copy_taps(const float* source, std::size_t at, std::size_t count,
                                 float* to) const {
  if (layer_.source) {
    kernels_.widen(*layer_.source, reinterpret_cast<const std::uint16_t*>(source) + at, to, count);
  } else {
    std::copy_n(source + at, count, to);
  }
}

void PanelConvolution::copy_taps(const float* source, std::size_t at, std::size_t count,
                                 std::uint16_t* to) const {
  std::copy_n(reinterpret_cast<const std::uint16_t*>(source) + at, count, to);
}

// The patch that a result sees; what lies outside is zero.
template <typename Number>
void PanelConvolution::copy_patch(const float* source, std::size_t row, Number* patch) const {
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

PanelConvolution::Part PanelConvolution::part(std::size_t index) const {
  const std::size_t block = index / parts_of_block_;
  const std::size_t among = index % parts_of_block_;
  const std::size_t first = rows_ * block / blocks_;
  return {.first_row = first,
          .rows = rows_ * (block + 1) / blocks_ - first,
          .first_panel = panels() * among / parts_of_block_,
          .last_panel = panels() * (among + 1) / parts_of_block_};
}

bool PanelConvolution::may_compute_in_float16() const {
  return layer_.source == HalfFormat::Float16 && layer_.weights == HalfFormat::Float16 &&
         kernels_.panel_width == kFp16Columns;
}

// As floats or, to compute in float16, as they are: the scales of rows, then the rows.
void PanelConvolution::copy_patches(const float* source, const Part& part, float* patches) const {
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

void PanelConvolution::multiply(const float* patches, const float* weights, const Part& part,
                                float* sums) const {
  if (layer_.weights) return multiply_halves(patches, weights, part, sums);
  const std::size_t width = kernels_.panel_width;
  const std::size_t size = depth_ * width;
  for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
    const float* present = weights + panel * size;
    kernels_.panel_product(patches, part.rows, patch_stride(), present, depth_,
                           sums + (panel - part.first_panel) * width, row_stride(),
                           {present + size, size});
  }
}

void PanelConvolution::multiply_halves(const float* patches, const float* weights, const Part& part,
                                       float* sums) const {
  const std::size_t width = kernels_.panel_width;
  const std::size_t size = depth_ * width;
  float* wide = sums + rows_in_block_ * row_stride() + copied_floats();
  for (std::size_t panel = part.first_panel; panel < part.last_panel; ++panel) {
    const auto* present = reinterpret_cast<const std::uint16_t*>(weights) + panel * size;
    float* products = sums + (panel - part.first_panel) * width;
    const Upcoming upcoming = {reinterpret_cast<const float*>(present + size), size / 2};
    if (widens_panels()) {
      kernels_.widen(*layer_.weights, present, wide, size);
      kernels_.panel_product(patches, part.rows, patch_stride(), wide, depth_, products,
                             row_stride(), upcoming);
      continue;
    }
    kernels_.product_of_halves(*layer_.weights, patches, part.rows, patch_stride(), present, depth_,
                               products, row_stride(), /*continues=*/false, upcoming);
  }
}

void PanelConvolution::multiply_in_float16(const float* patches, const float* weights,
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

void PanelConvolution::finish(const ConvolutionOperands& operands, const Part& part,
                              float* sums) const {
  const std::size_t column = part.first_panel * kernels_.panel_width;
  const std::size_t count =
      std::min(part.last_panel * kernels_.panel_width, layer_.outputs) - column;
  for (std::size_t row = 0; row < part.rows; ++row) {
    finish_.finish(operands, (part.first_row + row) * layer_.outputs + column, column, count,
                   sums + row * row_stride());
  }
}

void PanelConvolution::run_part(const ConvolutionOperands& operands, const Part& part,
                                float* workspace) const {
  float* copied = workspace + rows_in_block_ * row_stride();
  if (!reads_in_place()) copy_patches(operands.source, part, copied);
  const float* patches = reads_in_place() ? operands.source + part.first_row * depth_ : copied;
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

void PanelConvolution::run(const ConvolutionOperands& operands) const {
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
