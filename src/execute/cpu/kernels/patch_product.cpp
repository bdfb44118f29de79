#include "execute/cpu/kernels/patch_product.h"

#include <algorithm>

#include "execute/threads.h"

namespace assay::cpu {

using kernels::for_each_kernel_tap;
using kernels::WindowAxis;
using kernels::WindowGrid;
using kernels::WindowTap;

namespace {

// Depth that is multiplied before the next: a panel of it stays in a core's nearest cache.
constexpr std::size_t kChunk = 256;

}  // namespace

PatchProduct::PatchProduct(const WindowGrid& grid, std::int64_t images, std::int64_t channels,
                           std::int64_t outputs, const Epilogue& epilogue, int threads,
                           const SimdKernels& kernels)
    : kernels_(kernels),
      grid_(grid),
      images_(static_cast<std::size_t>(images)),
      channels_(static_cast<std::size_t>(channels)),
      outputs_(static_cast<std::size_t>(outputs)),
      rows_(images_ * static_cast<std::size_t>(grid.output_elements())),
      depth_(channels_ * static_cast<std::size_t>(grid.taps())),
      epilogue_(epilogue),
      threads_(threads) {}

bool PatchProduct::sees_single_pixels() const {
  return std::ranges::all_of(grid_.axes, [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
  });
}

std::size_t PatchProduct::workspace_floats() const {
  return rows_ * row_stride() + (sees_single_pixels() ? 0 : rows_ * depth_);
}

std::int64_t PatchProduct::flops() const {
  return 2 * static_cast<std::int64_t>(rows_) * static_cast<std::int64_t>(depth_) *
         static_cast<std::int64_t>(outputs_);
}

// Chunk by chunk, panel by panel, in the order they are read.
void PatchProduct::pack_weights(const float* weights, float* packed) const {
  const std::size_t width = kernels_.panel_width;
  const std::size_t taps = depth_ / channels_;
  for (std::size_t start = 0; start < depth_; start += kChunk) {
    const std::size_t size = std::min(kChunk, depth_ - start);
    for (std::size_t output = 0; output < outputs_; ++output) {
      float* column =
          packed + start * row_stride() + output / width * width * size + output % width;
      const float* filters = weights + output * depth_;
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t tap = (start + i) / channels_;
        const std::size_t channel = (start + i) % channels_;
        column[i * width] = filters[channel * taps + tap];
      }
    }
  }
}

void PatchProduct::copy_patch(const float* source, std::size_t row, float* patches) const {
  const WindowAxis& deep = grid_.axes[0];
  const WindowAxis& down = grid_.axes[1];
  const WindowAxis& across = grid_.axes[2];
  const auto windows = static_cast<std::size_t>(grid_.output_elements());
  const auto window = static_cast<std::int64_t>(row % windows);
  const std::int64_t x = window % across.output;
  const std::int64_t y = window / across.output % down.output;
  const std::int64_t z = window / across.output / down.output;
  const float* image =
      source + row / windows * static_cast<std::size_t>(grid_.input_elements()) * channels_;
  float* patch = patches + row * depth_;
  for_each_kernel_tap(grid_, [&](const WindowTap& tap) {
    const std::int64_t at_z = deep.position(z, tap[0]);
    const std::int64_t at_y = down.position(y, tap[1]);
    const std::int64_t at_x = across.position(x, tap[2]);
    const bool is_inside = at_z >= 0 && at_z < deep.input && at_y >= 0 && at_y < down.input &&
                           at_x >= 0 && at_x < across.input;
    if (is_inside) {
      const std::int64_t pixel = (at_z * down.input + at_y) * across.input + at_x;
      std::copy_n(image + static_cast<std::size_t>(pixel) * channels_, channels_, patch);
    } else {
      std::fill_n(patch, channels_, 0.0f);
    }
    patch += channels_;
  });
}

void PatchProduct::multiply(const float* patches, const float* weights, std::size_t first_panel,
                            std::size_t last_panel, float* products) const {
  const std::size_t width = kernels_.panel_width;
  for (std::size_t start = 0; start < depth_; start += kChunk) {
    const std::size_t size = std::min(kChunk, depth_ - start);
    const auto product = start == 0 ? kernels_.panel_product : kernels_.add_panel_product;
    for (std::size_t panel = first_panel; panel < last_panel; ++panel) {
      const float* present = weights + start * row_stride() + panel * width * size;
      product(patches + start, rows_, depth_, present, size, products + panel * width, row_stride(),
              {present + width * size, width * size});
    }
  }
}

void PatchProduct::run(const ConvolutionOperands& operands) const {
  float* products = operands.workspace;
  float* patches = products + rows_ * row_stride();
  if (!sees_single_pixels()) {
    execute::for_each_in_parallel(
        threads_, rows_, [&](std::size_t row) { copy_patch(operands.source, row, patches); });
  }
  const float* factors = sees_single_pixels() ? operands.source : patches;
  execute::in_parallel(threads_, static_cast<std::int64_t>(panels()),
                       [&](std::int64_t first, std::int64_t last) {
                         multiply(factors, operands.weights, static_cast<std::size_t>(first),
                                  static_cast<std::size_t>(last), products);
                       });
  execute::for_each_in_parallel(threads_, rows_, [&](std::size_t row) {
    const std::size_t at = row * outputs_;
    kernels_.finish(bound_epilogue(operands, epilogue_, at), products + row * row_stride(),
                    operands.result + at, outputs_);
  });
}

}  // namespace assay::cpu
