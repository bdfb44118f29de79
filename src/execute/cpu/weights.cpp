#include "execute/cpu/weights.h"

#include <algorithm>
#include <cstring>

#include "execute/cpu/tensor_floats.h"
#include "transform/cast_precision.h"

namespace assay::cpu {

namespace {

constexpr std::int64_t kRowsInPart = 256;

// Shows a tensor to `use(first row, part)`, a very large one in parts that need not stay in memory
// afterwards: it is never there twice, as it is stored and as the engine wants it.
template <typename Use>
void by_parts(const Tensor& tensor, const Use& use) {
  const std::int64_t rows = tensor.dims().empty() ? 1 : tensor.dims()[0];
  if (tensor.byte_size() < kLargeWeight || rows <= kRowsInPart) return use(std::int64_t{0}, tensor);
  for (std::int64_t first = 0; first < rows; first += kRowsInPart) {
    const Tensor part = tensor.rows(first, std::min(kRowsInPart, rows - first));
    use(first, part);
    part.release();
  }
}

void copy_constant(const Tensor& tensor, std::byte* address) {
  by_parts(tensor, [&](std::int64_t, const Tensor& part) {
    if (part.byte_size() > 0) std::memcpy(address, part.bytes().data(), part.byte_size());
    address += part.byte_size();
  });
}

void reorder_whole(const Tensor& tensor, const Desc& from, const Desc& to, std::byte* address) {
  if (tensor.type() != DataType::Float32) {
    reorder(from, const_cast<std::byte*>(tensor.bytes().data()), to, address);
    return;
  }
  with_floats(tensor,
              [&](const float* values) { reorder(from, const_cast<float*>(values), to, address); });
}

// Whether parts can be written into the layout one after the other.
bool can_be_cut(const Desc& to) {
  const std::int64_t rows = to.dims()[0];
  for (std::int64_t first = 0; first < rows; first += kRowsInPart) {
    if (!rows_of(to, first, std::min(kRowsInPart, rows - first))) return false;
  }
  return true;
}

void reorder_weight(const Tensor& tensor, const Desc& from, const Desc& to, std::byte* address) {
  const Dims dims = from.dims();
  const bool is_stored_by_rows = dims.size() == 2 && from == plain_desc(dims);
  if (tensor.byte_size() < kLargeWeight || !is_stored_by_rows || !can_be_cut(to)) {
    return reorder_whole(tensor, from, to, address);
  }
  by_parts(tensor.reshaped(dims), [&](std::int64_t first, const Tensor& part) {
    const std::int64_t rows = part.dims()[0];
    reorder_whole(part, plain_desc(part.dims()), *rows_of(to, first, rows), address);
  });
}

Placement in_desc(BufferId buffer, const Desc& desc) {
  Placement placement = placement_for(buffer, desc, desc.dims());
  placement.blocked = desc;
  return placement;
}

}  // namespace

std::byte* Weights::copied(const Tensor& tensor) {
  std::byte* address = pool_.allocate(std::max<std::size_t>(tensor.byte_size(), 1));
  copy_constant(tensor, address);
  if (!is_used_as_stored(tensor)) tensor.release();
  return address;
}

Tensor Weights::in_type(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  Tensor& known = by_type_[{tensor.identity(), type}];
  const bool fits = known.has_value() && known.dims() == tensor.dims();
  if (!fits) {
    known = transform::converted(tensor, type);
    pool_.keep(known);
  }
  return known;
}

Placement Weights::stored(const Tensor& tensor) {
  const Key key{tensor.identity(), "stored"};
  const bool has_bytes = tensor.byte_size() > 0;
  if (const auto known = by_layout_.find(key); known != by_layout_.end() && has_bytes) {
    Placement same = row_major_placement(known->second.buffer, tensor.type(), tensor.dims());
    if (same.bytes() <= known->second.bytes()) return same;
  }
  std::byte* address = has_bytes && may_use_stored(tensor) ? use_stored(tensor) : copied(tensor);
  const auto bytes = static_cast<std::int64_t>(tensor.byte_size());
  Placement placement =
      row_major_placement(buffers_.add_fixed(bytes, address), tensor.type(), tensor.dims());
  if (has_bytes) by_layout_[key] = placement;
  seen_.push_back(tensor);
  return placement;
}

Placement Weights::constant_floats(const std::vector<float>& values,
                                   std::vector<std::int64_t> dims) {
  const auto bytes = values.size() * sizeof(float);
  std::byte* address = pool_.allocate(std::max<std::size_t>(bytes, 1));
  if (bytes > 0) std::memcpy(address, values.data(), bytes);
  return row_major_placement(buffers_.add_fixed(static_cast<std::int64_t>(bytes), address),
                             DataType::Float32, std::move(dims));
}

// Where memory counts, or a weight is very large, one that already lies as the engine wants it is
// used where it is stored.
bool Weights::may_use_stored(const Tensor& tensor) const {
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % alignof(float) == 0;
  const bool counts = what_ == OptimizeFor::Memory || tensor.byte_size() > kLargeWeight;
  return counts && is_aligned;
}

std::byte* Weights::use_stored(const Tensor& tensor) {
  const auto [storage, offset] = tensor.identity();
  used_as_stored_[storage].push_back({offset, offset + tensor.byte_size()});
  pool_.keep(tensor);
  tensor.keep();  // a tensor made from this one may ask to release it
  return const_cast<std::byte*>(tensor.bytes().data());
}

Placement Weights::reordered(const Tensor& tensor, const Desc& from, const Desc& to) {
  std::string layout = layout_key(to);
  if (from == to && may_use_stored(tensor)) {
    const Key key{tensor.identity(), std::move(layout)};
    if (const auto known = by_layout_.find(key); known != by_layout_.end()) return known->second;
    const auto bytes = static_cast<std::int64_t>(bytes_of(to));
    return by_layout_[key] = in_desc(buffers_.add_fixed(bytes, use_stored(tensor)), to);
  }
  const Placement placement = prepared(tensor, std::move(layout), bytes_of(to),
                                       [from, to](const Tensor& values, std::byte* address) {
                                         reorder_weight(values, from, to, address);
                                       });
  return in_desc(placement.buffer, to);
}

Placement Weights::prepared(const Tensor& tensor, std::string layout, std::size_t bytes,
                            const Prepare& prepare) {
  const Key key{tensor.identity(), std::move(layout)};
  if (const auto known = by_layout_.find(key); known != by_layout_.end()) return known->second;
  std::byte* address = pool_.allocate(bytes);
  unprepared_.push_back({tensor, prepare, address});
  seen_.push_back(tensor);
  const auto floats = static_cast<std::int64_t>(bytes / sizeof(float));
  const BufferId buffer = buffers_.add_fixed(static_cast<std::int64_t>(bytes), address);
  return by_layout_[key] = row_major_placement(buffer, DataType::Float32, {floats});
}

void Weights::prepare() {
  std::ranges::stable_sort(unprepared_, std::greater(),
                           [](const Unprepared& weight) { return weight.tensor.byte_size(); });
  for (const auto& [tensor, prepare, address] : unprepared_) {
    prepare(tensor, address);
    if (!is_used_as_stored(tensor)) tensor.release();
  }
  unprepared_.clear();
  // Reading a small one of a mapped file brings its neighbours into memory again.
  for (const Tensor& tensor : seen_) {
    if (!is_used_as_stored(tensor)) tensor.release();
  }
}

bool Weights::is_used_as_stored(const Tensor& tensor) const {
  const auto [storage, offset] = tensor.identity();
  const auto used = used_as_stored_.find(storage);
  if (used == used_as_stored_.end()) return false;
  return std::ranges::any_of(used->second, [&, first = offset](const Stretch& stretch) {
    return stretch.first < first + tensor.byte_size() && first < stretch.last;
  });
}

std::int64_t Weights::bytes_used_as_stored() const {
  std::size_t bytes = 0;
  for (const auto& [storage, used] : used_as_stored_) {
    std::vector<Stretch> stretches = used;
    std::ranges::sort(stretches, {}, &Stretch::first);
    std::size_t counted_up_to = 0;  // stretches may overlap
    for (const Stretch& stretch : stretches) {
      const std::size_t first = std::max(stretch.first, counted_up_to);
      if (stretch.last > first) bytes += stretch.last - first;
      counted_up_to = std::max(counted_up_to, stretch.last);
    }
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace assay::cpu
