#include "execute/cpu/placement.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

using kernels::row_major_strides;

std::int64_t Placement::elements() const {
  return checked_product(dims).value_or(0);
}

std::int64_t Placement::bytes() const {
  return byte_size(type, elements()).value_or(0);
}

bool Placement::is_row_major() const {
  if (blocked) return false;
  if (elements() == 0) return true;  // the other dimensions may be too large to multiply
  std::int64_t expected = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

std::vector<std::int64_t> row_major_strides_of(const std::vector<std::int64_t>& dims) {
  return row_major_strides(dims);
}

Placement row_major_placement(BufferId buffer, DataType type, std::vector<std::int64_t> dims) {
  Placement placement;
  placement.buffer = buffer;
  placement.type = type;
  placement.strides = row_major_strides_of(dims);
  placement.dims = std::move(dims);
  return placement;
}

namespace {

// A blocked layout of channels over a single pixel is the row-major one, if no channel is padding.
bool is_row_major_in_disguise(const Desc& desc, const std::vector<std::int64_t>& dims) {
  const DataType type = element_of(desc);
  if (desc == plain_desc(desc.dims(), type)) return true;
  const auto others = std::count_if(dims.begin(), dims.end(), [](auto dim) { return dim != 1; });
  const bool is_dense = bytes_of(desc) == bytes_of(plain_desc(dims, type));
  return is_dense && others <= 1;
}

}  // namespace

Placement placement_for(BufferId buffer, const Desc& desc, std::vector<std::int64_t> dims) {
  Placement placement = row_major_placement(buffer, element_of(desc), std::move(dims));
  if (!is_row_major_in_disguise(desc, placement.dims)) placement.blocked = desc;
  return placement;
}

Desc desc_of(const Placement& placement) {
  if (placement.blocked) return *placement.blocked;
  return strided_desc(placement.dims, placement.strides, placement.type);
}

namespace {

// How many channels lie side by side, 0 meaning all; nothing if they are not in such blocks.
std::optional<std::int64_t> channel_block(const Placement& placement) {
  if (!placement.blocked || placement.dims.size() < 3 || placement.dims.size() > 5) return {};
  for (const std::int64_t block : {16, 8, 4, 0}) {
    if (*placement.blocked == image_desc(placement.dims, block, placement.type)) return block;
  }
  return {};
}

}  // namespace

std::optional<BlockShape> block_shape(const Placement& placement) {
  const auto found = channel_block(placement);
  if (!found) return {};
  const std::int64_t channels = placement.dims[1];
  const std::int64_t block = *found == 0 ? channels : *found;
  return BlockShape{.batch = placement.dims[0],
                    .channel_blocks = (channels + block - 1) / block,
                    .pixels = checked_product(std::span(placement.dims).subspan(2)).value_or(0),
                    .block = block,
                    .is_padded = channels % block != 0};
}

Desc like_blocks(const Placement& placement, const Dims& dims) {
  return image_desc(dims, *channel_block(placement), placement.type);
}

}  // namespace assay::cpu
