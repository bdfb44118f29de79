// An immutable tensor: a type, dimensions, and a shared view of its bytes.
//
// Copying a Tensor copies no data. The bytes live in a Storage: the heap, a mapped file, or a
// generator that makes them when they are first asked for. They may be unaligned: read them with
// `to_vector` or memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/data_type.h"
#include "assay/shape.h"

namespace assay {

class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::size_t size() const = 0;
  virtual std::span<const std::byte> bytes() const = 0;
  // A hint that these bytes are not needed soon: their memory may be released, and is filled again
  // on the next access. Spans returned before become invalid.
  virtual void release(std::size_t /*offset*/, std::size_t /*size*/) const {}
  // From now on the bytes stay where they are: spans remain valid, and release() does nothing.
  virtual void keep() const {}
};

// Owns a buffer.
std::shared_ptr<const Storage> heap_storage(std::vector<std::byte> bytes);
// Calls `fill` once, when the bytes are first needed.
std::shared_ptr<const Storage> generated_storage(std::size_t byte_count,
                                                 std::function<void(std::span<std::byte>)> fill);

class Tensor {
 public:
  Tensor() = default;  // empty: `has_value()` is false
  // Views `storage` from `offset` on; throws unless the bytes needed are there.
  Tensor(DataType type, std::vector<std::int64_t> dims, std::shared_ptr<const Storage> storage,
         std::size_t offset = 0);
  Tensor(std::vector<std::int64_t> dims, std::vector<std::string> strings);

  template <typename T>
  static Tensor of(DataType type, std::vector<std::int64_t> dims, std::span<const T> values);
  static Tensor of_int64(std::vector<std::int64_t> dims, const std::vector<std::int64_t>& values);
  static Tensor of_float(std::vector<std::int64_t> dims, const std::vector<float>& values);

  bool has_value() const { return type_ != DataType::Undefined; }
  DataType type() const { return type_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  Shape shape() const { return Shape(dims_); }
  std::int64_t elements() const { return elements_; }
  std::size_t byte_size() const { return byte_size_; }

  std::span<const std::byte> bytes() const;
  const std::vector<std::string>& strings() const;
  // The elements as T: float for float32, std::int64_t for int64 and so on; std::uint8_t for bool
  // and 8-bit floats, std::uint16_t for float16 and bfloat16. Throws an Error that names both types
  // if the tensor's is another.
  template <typename T>
  std::vector<T> to_vector() const;
  // Any integer, bool or floating type converted; for shape arithmetic, where tensors are small.
  std::vector<std::int64_t> to_int64() const;
  std::vector<double> to_double() const;
  // The same bytes under other dimensions of equal product.
  Tensor reshaped(std::vector<std::int64_t> dims) const;
  // The same bytes from `first` on, for `count` positions of the first dimension.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  // Releases memory until the next access, if the storage can produce the bytes again.
  void release() const;
  void keep() const;  // as Storage::keep()
  // True when both view the very same bytes.
  bool same_storage(const Tensor& other) const;
  // What it views, whether or not the bytes are in memory: equal for tensors of the same storage.
  std::pair<const Storage*, std::size_t> identity() const { return {storage_.get(), offset_}; }

  // Equal type, dimensions and content.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  void check_stored_as(DataType wanted) const;

  DataType type_ = DataType::Undefined;
  std::vector<std::int64_t> dims_;
  std::int64_t elements_ = 0;
  std::size_t byte_size_ = 0;
  std::shared_ptr<const Storage> storage_;
  std::size_t offset_ = 0;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

template <typename T>
Tensor Tensor::of(DataType type, std::vector<std::int64_t> dims, std::span<const T> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Tensor(type, std::move(dims), heap_storage(std::move(bytes)));
}

// The type whose elements are stored as T.
template <typename T>
constexpr DataType stored_type_of() {
  if constexpr (std::is_same_v<T, float>) return DataType::Float32;
  if constexpr (std::is_same_v<T, double>) return DataType::Float64;
  if constexpr (std::is_same_v<T, std::int8_t>) return DataType::Int8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DataType::UInt8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DataType::Int16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DataType::UInt16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DataType::Int32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DataType::UInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DataType::Int64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DataType::UInt64;
  return DataType::Undefined;
}

template <typename T>
std::vector<T> Tensor::to_vector() const {
  static_assert(stored_type_of<T>() != DataType::Undefined,
                "no tensor stores elements of this type");
  check_stored_as(stored_type_of<T>());
  std::vector<T> values(static_cast<std::size_t>(elements_));
  const auto source = bytes();
  if (!values.empty()) std::memcpy(values.data(), source.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace assay
