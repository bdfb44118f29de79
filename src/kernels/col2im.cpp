// Col2Im: columns of blocks added up where the blocks lie in an image, which may have any rank.
#include <optional>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// How blocks lie along one axis of the image.
struct BlockAxis {
  std::int64_t image = 0;
  std::int64_t block = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad = 0;
  std::int64_t count = 0;  // blocks
};

std::int64_t block_count(const KernelCall& call, const BlockAxis& axis, std::int64_t pad_end) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  const auto is_size = [](std::int64_t number) { return number >= 1 && number < kLargest; };
  const bool fits = is_size(axis.image) && is_size(axis.block) && is_size(axis.stride) &&
                    is_size(axis.dilation) && axis.pad >= 0 && pad_end >= 0 &&
                    axis.pad < kLargest && pad_end < kLargest;
  if (!fits) call.fail("image_shape, block_shape, strides, dilations or pads are no sizes");
  const std::int64_t slack =
      axis.image + axis.pad + pad_end - (axis.dilation * (axis.block - 1) + 1);
  if (slack < 0) call.fail("a block of {} does not fit an axis of {}", axis.block, axis.image);
  return slack / axis.stride + 1;
}

std::vector<BlockAxis> block_axes(const KernelCall& call) {
  const auto image = call.input(1).to_int64();
  const auto block = call.input(2).to_int64();
  const std::size_t rank = image.size();
  const Dims strides = call.node.ints_or("strides", Dims(rank, 1));
  const Dims dilations = call.node.ints_or("dilations", Dims(rank, 1));
  const Dims pads = call.node.ints_or("pads", Dims(2 * rank, 0));
  if (rank == 0 || block.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank) {
    call.fail("image_shape, block_shape, strides, dilations and pads differ in rank");
  }
  std::vector<BlockAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back({image[i], block[i], strides[i], dilations[i], pads[i], 0});
    axes.back().count = block_count(call, axes.back(), pads[rank + i]);
  }
  return axes;
}

Dims dims_of(const std::vector<BlockAxis>& axes, std::int64_t BlockAxis::*member) {
  Dims dims;
  for (const BlockAxis& axis : axes) dims.push_back(axis.*member);
  return dims;
}

// Where in the image an element of a block lies; nothing for padding.
std::optional<std::int64_t> place_of(const std::vector<BlockAxis>& axes, const Dims& strides,
                                     std::span<const std::int64_t> element,
                                     std::span<const std::int64_t> block) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t at = block[i] * axes[i].stride - axes[i].pad + element[i] * axes[i].dilation;
    if (at < 0 || at >= axes[i].image) return std::nullopt;
    place += at * strides[i];
  }
  return place;
}

std::vector<Tensor> col2im(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto axes = block_axes(call);
  const Dims image = dims_of(axes, &BlockAxis::image);
  const Dims block = dims_of(axes, &BlockAxis::block);
  const Dims counts = dims_of(axes, &BlockAxis::count);
  const auto taps = static_cast<std::int64_t>(result_elements(call, block));
  const auto blocks = static_cast<std::int64_t>(result_elements(call, counts));
  if (input.dims().size() != 3 || input.dims()[1] % taps != 0 || input.dims()[2] != blocks)
    call.fail("{} does not hold {} blocks of {} elements", join_dims(input.dims()), blocks, taps);
  Dims dims = {input.dims()[0], input.dims()[1] / taps};
  dims.insert(dims.end(), image.begin(), image.end());
  std::vector<double> sums(result_elements(call, dims), 0.0);
  const auto values = load_real(call, input);
  const Dims strides = row_major_strides(image);
  const auto pixels = static_cast<std::int64_t>(result_elements(call, image));
  for (std::int64_t plane = 0; plane < dims[0] * dims[1]; ++plane) {
    for_each_index(block, [&](std::span<const std::int64_t> element, std::size_t tap) {
      for_each_index(counts, [&](std::span<const std::int64_t> at, std::size_t i) {
        const auto place = place_of(axes, strides, element, at);
        const std::int64_t row = plane * taps + static_cast<std::int64_t>(tap);
        if (place) {
          sums[static_cast<std::size_t>(plane * pixels + *place)] +=
              values[static_cast<std::size_t>(row * blocks) + i];
        }
      });
    });
  }
  return {store_real(input.type(), dims, sums)};
}

}  // namespace

void add_col2im_kernels(KernelTable& table) {
  table["Col2Im"] = col2im;
}

}  // namespace assay::kernels
