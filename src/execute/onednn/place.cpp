#include "execute/onednn/place.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/shape_math.h"

namespace assay::onednn {

std::int64_t Place::elements() const {
  return checked_product(dims).value_or(0);
}

std::int64_t Place::bytes() const {
  return byte_size(type, elements()).value_or(0);
}

bool Place::is_row_major() const {
  if (blocked) return false;
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

Place row_major_place(BufferId buffer, DataType type, std::vector<std::int64_t> dims) {
  Place place;
  place.buffer = buffer;
  place.type = type;
  place.strides = row_major_strides_of(dims);
  place.dims = std::move(dims);
  return place;
}

namespace {

// A blocked layout of channels over a single pixel is the row-major one, if no channel is padding.
bool is_row_major_in_disguise(const Desc& desc, const std::vector<std::int64_t>& dims) {
  if (desc == plain_desc(desc.dims())) return true;
  const auto others = std::count_if(dims.begin(), dims.end(), [](auto dim) { return dim != 1; });
  const bool is_dense = bytes_of(desc) == bytes_of(plain_desc(dims));
  return is_dense && others <= 1;
}

}  // namespace

Place place_for(BufferId buffer, const Desc& desc, std::vector<std::int64_t> dims) {
  Place place = row_major_place(buffer, DataType::Float32, std::move(dims));
  if (!is_row_major_in_disguise(desc, place.dims)) place.blocked = desc;
  return place;
}

Desc desc_of(const Place& place) {
  if (place.blocked) return *place.blocked;
  return strided_desc(place.dims, place.strides);
}

namespace {

// Channels in blocks of so many, by the number of spatial axes; 0: all of them lie last.
struct BlockTags {
  std::int64_t block = 0;
  std::array<dnnl::memory::format_tag, 3> by_rank;
};

Desc tagged(const std::vector<std::int64_t>& dims, const BlockTags& tags) {
  return Desc(dims, dnnl::memory::data_type::f32, tags.by_rank[dims.size() - 3]);
}

const BlockTags* tags_of(const Place& place) {
  using tag = dnnl::memory::format_tag;
  static const BlockTags kTags[] = {{16, {tag::nCw16c, tag::nChw16c, tag::nCdhw16c}},
                                    {8, {tag::nCw8c, tag::nChw8c, tag::nCdhw8c}},
                                    {4, {tag::nCw4c, tag::nChw4c, tag::nCdhw4c}},
                                    {0, {tag::nwc, tag::nhwc, tag::ndhwc}}};
  if (!place.blocked || place.dims.size() < 3 || place.dims.size() > 5) return nullptr;
  const auto found = std::ranges::find_if(
      kTags, [&](const BlockTags& tags) { return *place.blocked == tagged(place.dims, tags); });
  return found == std::end(kTags) ? nullptr : found;
}

}  // namespace

std::optional<BlockShape> block_shape(const Place& place) {
  const BlockTags* tags = tags_of(place);
  if (tags == nullptr) return {};
  const std::int64_t channels = place.dims[1];
  const std::int64_t block = tags->block == 0 ? channels : tags->block;
  return BlockShape{.batch = place.dims[0],
                    .channel_blocks = (channels + block - 1) / block,
                    .pixels = checked_product(std::span(place.dims).subspan(2)).value_or(0),
                    .block = block,
                    .is_padded = channels % block != 0};
}

Desc like_blocks(const Place& place, const Dims& dims) {
  return tagged(dims, *tags_of(place));
}

}  // namespace assay::onednn
