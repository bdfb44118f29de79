#include "onnx_io/wire.h"

#include <bit>
#include <protozero/varint.hpp>

#include "base/fail.h"
#include "base/utf8.h"

namespace assay::onnx {

static_assert(std::endian::native == std::endian::little,
              "weights are viewed in place, and ONNX stores them little-endian");

namespace {

constexpr std::uint64_t kLargestFieldNumber = (std::uint64_t{1} << 29) - 1;

std::string_view name(WireType type) {
  switch (type) {
    case WireType::Varint:
      return "a number";
    case WireType::Fixed64:
      return "a 64-bit value";
    case WireType::Fixed32:
      return "a 32-bit value";
    case WireType::Bytes:
      break;
  }
  return "bytes";
}

}  // namespace

std::uint64_t FieldReader::long_varint(const char** at, const char* end) const {
  try {
    return protozero::decode_varint(at, end);
  } catch (const protozero::end_of_buffer_exception&) {
    fail_truncated(1);
  } catch (const protozero::exception&) {
    fail_bad_input("damaged at byte {}: {} has a number that never ends", position(*at), what_);
  }
}

void FieldReader::fail_truncated(std::uint64_t missing) const {
  if (end_ == source_->bytes.data() + source_->bytes.size()) {
    fail_bad_input("truncated: the file ends at byte {}, inside {}, at least {} bytes early",
                   source_->bytes.size(), what_, missing);
  }
  fail_bad_input("damaged at byte {}: a field of {} is longer than the {} bytes left of it",
                 position(at_), what_, end_ - at_);
}

void FieldReader::take_bytes(std::uint64_t count) {
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  if (count > left) fail_truncated(count - left);
  bytes_ = {at_, static_cast<std::size_t>(count)};
  at_ += count;
}

bool FieldReader::next() {
  if (at_ == end_) return false;
  start_ = at_;
  const std::uint64_t tag = varint(&at_, end_);
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > kLargestFieldNumber) {
    fail_bad_input("damaged at byte {}: {} has a field numbered {}", position(start_), what_,
                   number);
  }
  number_ = static_cast<int>(number);
  wire_type_ = static_cast<WireType>(tag & 7);
  switch (wire_type_) {
    case WireType::Varint:
      value_ = varint(&at_, end_);
      return true;
    case WireType::Fixed64:
      take_bytes(8);
      return true;
    case WireType::Fixed32:
      take_bytes(4);
      return true;
    case WireType::Bytes:
      take_bytes(varint(&at_, end_));
      return true;
  }
  fail_bad_input("damaged at byte {}: {} has a field of unknown encoding {}", position(start_),
                 what_, tag & 7);
}

void FieldReader::expect(WireType wanted) const {
  if (wire_type_ == wanted) return;
  fail_bad_input("damaged before byte {}: field {} of {} holds {}, expected {}", position(at_),
                 number_, what_, name(wire_type_), name(wanted));
}

std::int64_t FieldReader::integer() const {
  expect(WireType::Varint);
  return static_cast<std::int64_t>(value_);
}

float FieldReader::real() const {
  expect(WireType::Fixed32);
  float value = 0;
  std::memcpy(&value, bytes_.data(), sizeof(value));
  return value;
}

double FieldReader::long_real() const {
  expect(WireType::Fixed64);
  double value = 0;
  std::memcpy(&value, bytes_.data(), sizeof(value));
  return value;
}

std::string_view FieldReader::bytes() const {
  expect(WireType::Bytes);
  return bytes_;
}

std::string_view FieldReader::text() const {
  const std::string_view view = bytes();
  if (!is_utf8(view)) {
    fail_bad_input("damaged at byte {}: field {} of {} is not valid UTF-8 text",
                   position(view.data()), number_, what_);
  }
  return view;
}

std::string_view FieldReader::packed_of(std::size_t width) const {
  const std::string_view packed = bytes();
  if (packed.size() % width != 0) {
    fail_bad_input("damaged at byte {}: {} bytes of {} do not divide into numbers of {}",
                   position(packed.data()), packed.size(), what_, width);
  }
  return packed;
}

}  // namespace assay::onnx
