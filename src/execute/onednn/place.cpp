#include "execute/onednn/place.h"

#include <algorithm>

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
  if (desc == plain_desc(dims)) return true;
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

}  // namespace assay::onednn
