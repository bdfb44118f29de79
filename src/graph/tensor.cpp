#include "assay/tensor.h"

#include <algorithm>
#include <mutex>

#include "base/checked.h"
#include "base/fail.h"
#include "base/memory_block.h"
#include "base/number_cast.h"
#include "base/text.h"
#include "graph/half.h"

namespace assay {

using namespace assay::graph;

namespace {

class HeapStorage : public Storage {
 public:
  explicit HeapStorage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::size_t size() const override { return bytes_.size(); }
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class GeneratedStorage : public Storage {
 public:
  GeneratedStorage(std::size_t byte_count, std::function<void(std::span<std::byte>)> fill)
      : byte_count_(byte_count), fill_(std::move(fill)) {}

  std::size_t size() const override { return byte_count_; }
  std::span<const std::byte> bytes() const override {
    const std::lock_guard lock(mutex_);
    if (bytes_.size() == 0 && byte_count_ > 0) {
      MemoryBlock made(byte_count_, "a tensor");
      fill_({made.data(), made.size()});
      bytes_ = std::move(made);
    }
    return {bytes_.data(), bytes_.size()};
  }
  // A part alone is not released: another tensor may still be reading the rest.
  void release(std::size_t offset, std::size_t size) const override {
    const std::lock_guard lock(mutex_);
    if (offset == 0 && size == byte_count_ && !is_kept_) bytes_ = MemoryBlock();
  }
  void keep() const override {
    const std::lock_guard lock(mutex_);
    is_kept_ = true;
  }

 private:
  std::size_t byte_count_ = 0;
  std::function<void(std::span<std::byte>)> fill_;
  mutable std::mutex mutex_;
  mutable MemoryBlock bytes_;
  mutable bool is_kept_ = false;
};

std::int64_t element_count(std::span<const std::int64_t> dims) {
  const auto elements = checked_product(dims);
  if (!elements) fail_bad_input("tensor dimensions {} overflow or are negative", join_dims(dims));
  return *elements;
}

template <typename Stored, typename Wanted, typename Convert>
std::vector<Wanted> converted(const Tensor& tensor, Convert convert) {
  const auto stored = tensor.to_vector<Stored>();
  std::vector<Wanted> values(stored.size());
  std::transform(stored.begin(), stored.end(), values.begin(), convert);
  return values;
}

template <typename Wanted>
std::vector<Wanted> nibbles(const Tensor& tensor, bool is_signed) {
  std::vector<Wanted> values(static_cast<std::size_t>(tensor.elements()));
  const auto bytes = tensor.bytes();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int nibble = (std::to_integer<int>(bytes[i / 2]) >> (i % 2 == 0 ? 0 : 4)) & 0xf;
    values[i] = static_cast<Wanted>(is_signed && nibble >= 8 ? nibble - 16 : nibble);
  }
  return values;
}

template <typename Wanted>
std::vector<Wanted> converted_from_any(const Tensor& tensor) {
  const auto cast = [](auto value) { return number_cast<Wanted>(value); };
  const auto from_half = [](auto value) { return number_cast<Wanted>(half_to_float(value)); };
  const auto from_bf16 = [](auto value) { return number_cast<Wanted>(bfloat16_to_float(value)); };
  switch (tensor.type()) {
    case DataType::Float32:
      return converted<float, Wanted>(tensor, cast);
    case DataType::Float64:
      return converted<double, Wanted>(tensor, cast);
    case DataType::Float16:
      return converted<std::uint16_t, Wanted>(tensor, from_half);
    case DataType::BFloat16:
      return converted<std::uint16_t, Wanted>(tensor, from_bf16);
    case DataType::Int8:
      return converted<std::int8_t, Wanted>(tensor, cast);
    case DataType::Bool:
    case DataType::UInt8:
      return converted<std::uint8_t, Wanted>(tensor, cast);
    case DataType::Int16:
      return converted<std::int16_t, Wanted>(tensor, cast);
    case DataType::UInt16:
      return converted<std::uint16_t, Wanted>(tensor, cast);
    case DataType::Int32:
      return converted<std::int32_t, Wanted>(tensor, cast);
    case DataType::UInt32:
      return converted<std::uint32_t, Wanted>(tensor, cast);
    case DataType::Int64:
      return converted<std::int64_t, Wanted>(tensor, cast);
    case DataType::UInt64:
      return converted<std::uint64_t, Wanted>(tensor, cast);
    case DataType::UInt4:
      return nibbles<Wanted>(tensor, false);
    case DataType::Int4:
      return nibbles<Wanted>(tensor, true);
    default:
      fail_bad_input("a tensor of type {} has no numeric value here", name(tensor.type()));
  }
}

}  // namespace

std::shared_ptr<const Storage> heap_storage(std::vector<std::byte> bytes) {
  return std::make_shared<HeapStorage>(std::move(bytes));
}

std::shared_ptr<const Storage> generated_storage(std::size_t byte_count,
                                                 std::function<void(std::span<std::byte>)> fill) {
  return std::make_shared<GeneratedStorage>(byte_count, std::move(fill));
}

Tensor::Tensor(DataType type, std::vector<std::int64_t> dims,
               std::shared_ptr<const Storage> storage, std::size_t offset)
    : type_(type),
      dims_(std::move(dims)),
      elements_(element_count(dims_)),
      storage_(std::move(storage)),
      offset_(offset) {
  const auto size = assay::byte_size(type_, elements_);
  if (!size) fail_bad_input("a {} tensor of {} is too large", name(type_), join_dims(dims_));
  byte_size_ = static_cast<std::size_t>(*size);
  const std::size_t available = storage_ ? storage_->size() : 0;
  if (offset_ > available || byte_size_ > available - offset_) {
    fail_bad_input("a {} tensor of {} needs {} bytes, {} are there", name(type_), join_dims(dims_),
                   byte_size_, available - std::min(offset_, available));
  }
}

Tensor::Tensor(std::vector<std::int64_t> dims, std::vector<std::string> strings)
    : type_(DataType::String), dims_(std::move(dims)), elements_(element_count(dims_)) {
  if (static_cast<std::size_t>(elements_) != strings.size()) {
    fail_bad_input("a string tensor of {} holds {} strings", join_dims(dims_), strings.size());
  }
  strings_ = std::make_shared<const std::vector<std::string>>(std::move(strings));
}

Tensor Tensor::of_int64(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& values) {
  return of<std::int64_t>(DataType::Int64, std::move(dims), values);
}

Tensor Tensor::of_float(std::vector<std::int64_t> dims, const std::vector<float>& values) {
  return of<float>(DataType::Float32, std::move(dims), values);
}

std::span<const std::byte> Tensor::bytes() const {
  if (byte_size_ == 0) return {};
  return storage_->bytes().subspan(offset_, byte_size_);
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  const bool is_inside = !dims_.empty() && first >= 0 && count >= 0 && first <= dims_[0] - count;
  if (!is_inside || !storage_)
    fail_bad_input("rows {} to {} are not in the tensor", first, first + count);
  auto dims = dims_;
  dims[0] = count;
  const std::size_t row = dims_[0] == 0 ? 0 : byte_size_ / static_cast<std::size_t>(dims_[0]);
  return Tensor(type_, std::move(dims), storage_, offset_ + static_cast<std::size_t>(first) * row);
}

void Tensor::keep() const {
  if (storage_) storage_->keep();
}

void Tensor::release() const {
  if (storage_ && byte_size_ > 0) storage_->release(offset_, byte_size_);
}

const std::vector<std::string>& Tensor::strings() const {
  static const std::vector<std::string> none;
  return strings_ ? *strings_ : none;
}

std::vector<std::int64_t> Tensor::to_int64() const {
  return converted_from_any<std::int64_t>(*this);
}

std::vector<double> Tensor::to_double() const {
  return converted_from_any<double>(*this);
}

Tensor Tensor::reshaped(std::vector<std::int64_t> dims) const {
  if (element_count(dims) != elements_) {
    fail_bad_input("cannot reshape {} elements to {}", elements_, join_dims(dims));
  }
  Tensor view = *this;
  view.dims_ = std::move(dims);
  return view;
}

bool Tensor::same_storage(const Tensor& other) const {
  return storage_ != nullptr && storage_ == other.storage_ && offset_ == other.offset_;
}

void Tensor::check_stored_as(DataType wanted) const {
  const bool is_byte_code = type_ == DataType::Bool || (is_floating(type_) && bits(type_) == 8);
  const bool is_half = type_ == DataType::Float16 || type_ == DataType::BFloat16;
  if (type_ == wanted || (is_byte_code && wanted == DataType::UInt8) ||
      (is_half && wanted == DataType::UInt16)) {
    return;
  }
  fail_bad_input("the tensor holds {}, not {}", name(type_), name(wanted));
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.type_ != b.type_ || a.dims_ != b.dims_) return false;
  if (a.same_storage(b)) return true;
  return std::ranges::equal(a.bytes(), b.bytes()) && a.strings() == b.strings();
}

}  // namespace assay
