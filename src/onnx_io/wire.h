// Walks the fields of one protocol buffer message in place, copying nothing.
//
// Every length is checked against the bytes that are there and every field against the wire type
// it is read as; damage is an Error that says at which byte of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "assay/tensor.h"

namespace assay::onnx {

// The bytes of a model, and the storage that tensors viewing them share.
struct Source {
  std::string_view bytes;
  std::shared_ptr<const Storage> storage;

  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - bytes.data());
  }
};

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

class FieldReader {
 public:
  // `what` names the message in errors: "a node".
  FieldReader(std::string_view message, const Source& source, const char* what)
      : start_(message.data()),
        at_(start_),
        end_(at_ + message.size()),
        source_(&source),
        what_(what) {}

  bool next();  // advances to the next field; false after the last
  int number() const { return number_; }
  WireType wire_type() const { return wire_type_; }

  // The current field with its tag, as it is in the file.
  std::string_view whole() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }

  // The current field as what it must be.
  std::int64_t integer() const;
  float real() const;
  double long_real() const;
  std::string_view bytes() const;
  std::string_view text() const;  // bytes that are valid UTF-8

  // Calls `visit` for each number of a repeated field, packed or not.
  template <typename Visit>
  void each_integer(Visit visit) const {
    if (wire_type_ == WireType::Varint) return visit(static_cast<std::int64_t>(value_));
    const std::string_view packed = bytes();
    const char* at = packed.data();
    const char* end = at + packed.size();
    while (at != end) visit(static_cast<std::int64_t>(varint(&at, end)));
  }
  template <typename Visit>
  void each_real(Visit visit) const {
    if (wire_type_ == WireType::Fixed32) return visit(real());
    const std::string_view packed = packed_of(sizeof(float));
    for (std::size_t i = 0; i < packed.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, packed.data() + i, sizeof(float));
      visit(value);
    }
  }
  std::string_view packed_of(std::size_t width) const;  // packed numbers, `width` bytes each

 private:
  // Most numbers of a model take one byte.
  std::uint64_t varint(const char** at, const char* end) const {
    if (*at != end && static_cast<unsigned char>(**at) < 0x80) {
      return static_cast<unsigned char>(*(*at)++);
    }
    return long_varint(at, end);
  }
  std::uint64_t long_varint(const char** at, const char* end) const;
  void take_bytes(std::uint64_t count);
  void expect(WireType wanted) const;
  [[noreturn]] void fail_truncated(std::uint64_t missing) const;
  std::size_t position(const char* at) const {
    return static_cast<std::size_t>(at - source_->bytes.data());
  }

  const char* start_ = nullptr;  // of the current field
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const Source* source_ = nullptr;
  const char* what_ = "";
  int number_ = 0;
  WireType wire_type_ = WireType::Varint;
  std::uint64_t value_ = 0;      // of a number
  std::string_view bytes_ = {};  // of a Bytes or fixed-width field
};

}  // namespace assay::onnx
