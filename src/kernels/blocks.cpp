// DepthToSpace and SpaceToDepth: channels to and from blocks of pixels.
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

struct Blocks {
  std::int64_t size = 1;
  std::int64_t area = 1;
};

Blocks blocks_of(const KernelCall& call, const Dims& dims) {
  const std::int64_t size = call.node.int_or("blocksize", 0);
  const auto area = checked_multiply(size, size);
  if (dims.size() != 4) call.fail("needs four axes, got {}", join_dims(dims));
  if (size < 1 || !area) call.fail("blocksize {} is out of range", size);
  return {size, *area};
}

std::int64_t divided(const KernelCall& call, std::int64_t dim, std::int64_t divisor) {
  if (dim % divisor != 0) call.fail("a dimension of {} does not divide by {}", dim, divisor);
  return dim / divisor;
}

std::int64_t multiplied(const KernelCall& call, std::int64_t dim, std::int64_t factor) {
  const auto product = checked_multiply(dim, factor);
  if (!product) call.fail("the result is too large");
  return *product;
}

// "DCR": the block's row and column come before the remaining channels; "CRD": after them.
std::vector<Tensor> depth_to_space(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims& dims = input.dims();
  const Blocks blocks = blocks_of(call, dims);
  const std::int64_t channels = divided(call, dims[1], blocks.area);
  const std::string mode = call.node.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") call.fail("mode '{}' is not known", mode);
  const Dims result = {dims[0], channels, multiplied(call, dims[2], blocks.size),
                       multiplied(call, dims[3], blocks.size)};
  if (mode == "DCR") {
    const Dims split = {dims[0], blocks.size, blocks.size, channels, dims[2], dims[3]};
    return {transposed(call, input.reshaped(split), {0, 3, 4, 1, 5, 2}).reshaped(result)};
  }
  const Dims split = {dims[0], channels, blocks.size, blocks.size, dims[2], dims[3]};
  return {transposed(call, input.reshaped(split), {0, 1, 4, 2, 5, 3}).reshaped(result)};
}

std::vector<Tensor> space_to_depth(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims& dims = input.dims();
  const Blocks blocks = blocks_of(call, dims);
  const std::int64_t height = divided(call, dims[2], blocks.size);
  const std::int64_t width = divided(call, dims[3], blocks.size);
  const Dims split = {dims[0], dims[1], height, blocks.size, width, blocks.size};
  const Dims result = {dims[0], multiplied(call, dims[1], blocks.area), height, width};
  return {transposed(call, input.reshaped(split), {0, 3, 5, 1, 2, 4}).reshaped(result)};
}

}  // namespace

void add_block_kernels(KernelTable& table) {
  table["DepthToSpace"] = depth_to_space;
  table["SpaceToDepth"] = space_to_depth;
}

}  // namespace assay::kernels
