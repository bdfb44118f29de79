#include "onnx_io/tensor_reader.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "onnx_io/schema.h"

namespace assay::onnx {

namespace {

// Where a TensorProto stores its numbers: in one of its typed fields, possibly in several pieces.
struct TypedData {
  std::size_t pieces = 0;  // occurrences of the field
  std::size_t bytes = 0;   // of all of them, for fixed-width numbers
  std::size_t count = 0;   // numbers, for varints and strings
  std::string_view last_piece = {};
};

struct ExternalEntry {
  std::optional<std::string_view> location = std::nullopt;
  std::optional<std::int64_t> offset = std::nullopt;
  std::optional<std::int64_t> length = std::nullopt;
};

struct TensorFields {
  std::string_view name = {};
  std::int64_t type_number = 0;
  std::vector<std::int64_t> dims = {};
  std::optional<std::string_view> raw = std::nullopt;
  int data_field = 0;  // the typed field in use; 0: none
  TypedData data = {};
  bool is_external = false;
  ExternalEntry external = {};
};

bool is_varint_field(int field) {
  return field == tensor_field::kInt32Data || field == tensor_field::kInt64Data ||
         field == tensor_field::kUInt64Data;
}

std::size_t fixed_width(int field) {
  return field == tensor_field::kDoubleData ? sizeof(double) : sizeof(float);
}

// The typed field that holds elements of a type when raw_data does not.
int field_for(DataType type) {
  switch (type) {
    case DataType::Float32:
    case DataType::Complex64:
      return tensor_field::kFloatData;
    case DataType::Float64:
    case DataType::Complex128:
      return tensor_field::kDoubleData;
    case DataType::Int64:
      return tensor_field::kInt64Data;
    case DataType::UInt32:
    case DataType::UInt64:
      return tensor_field::kUInt64Data;
    case DataType::String:
      return tensor_field::kStringData;
    default:
      return tensor_field::kInt32Data;
  }
}

// Every varint ends with the only of its bytes whose high bit is clear.
std::size_t count_varints(std::string_view packed) {
  return static_cast<std::size_t>(std::count_if(packed.begin(), packed.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0x80) == 0;
  }));
}

void note_typed_data(const FieldReader& field, TensorFields& tensor) {
  const int number = field.number();
  const bool is_packed = field.wire_type() == WireType::Bytes;
  if (is_packed && number != tensor_field::kStringData && field.bytes().empty()) return;
  if (tensor.data_field != 0 && tensor.data_field != number) {
    fail_bad_input("it stores its data in two different fields");
  }
  tensor.data_field = number;
  TypedData& data = tensor.data;
  ++data.pieces;
  if (number == tensor_field::kStringData) {
    data.count += 1;
  } else if (is_varint_field(number)) {
    data.count += is_packed ? count_varints(field.bytes()) : 1;
  } else {
    data.last_piece = is_packed ? field.packed_of(fixed_width(number)) : std::string_view();
    data.bytes += is_packed ? data.last_piece.size() : fixed_width(number);
  }
}

std::int64_t size_of_entry(std::string_view key, std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < 0) {
    fail_bad_input("the {} of its external data is '{}', expected a number of bytes", key,
                   without_control_characters(text.substr(0, 40)));
  }
  return *number;
}

template <typename T>
void set_once(std::optional<T>& place, T value, std::string_view key) {
  if (place) fail_bad_input("its external data has two entries '{}'", key);
  place = value;
}

void note_external_entry(std::string_view message, const Source& source, ExternalEntry& entry) {
  std::string_view key;
  std::string_view value;
  for (FieldReader field(message, source, "an external data entry"); field.next();) {
    if (field.number() == entry_field::kKey) key = field.text();
    if (field.number() == entry_field::kValue) value = field.text();
  }
  if (key == "location") return set_once(entry.location, value, key);
  if (key == "offset") return set_once(entry.offset, size_of_entry(key, value), key);
  if (key == "length") return set_once(entry.length, size_of_entry(key, value), key);
  if (key == "checksum") return;
  fail_bad_input(
      "its external data has an unknown entry '{}'; known are location, offset, length, checksum",
      without_control_characters(key.substr(0, 40)));
}

void note_field(const FieldReader& field, const Source& source, TensorFields& tensor) {
  switch (field.number()) {
    case tensor_field::kDims:
      return field.each_integer([&](std::int64_t dim) {
        if (tensor.dims.size() == kLargestRank) {
          fail_bad_input("it has more than {} dimensions", kLargestRank);
        }
        tensor.dims.push_back(dim);
      });
    case tensor_field::kDataType:
      tensor.type_number = field.integer();
      return;
    case tensor_field::kSegment:
      fail_bad_input("it is stored in segments, which are not supported");
    case tensor_field::kFloatData:
    case tensor_field::kInt32Data:
    case tensor_field::kStringData:
    case tensor_field::kInt64Data:
    case tensor_field::kDoubleData:
    case tensor_field::kUInt64Data:
      return note_typed_data(field, tensor);
    case tensor_field::kRawData:
      tensor.raw = field.bytes();
      return;
    case tensor_field::kExternalData:
      return note_external_entry(field.bytes(), source, tensor.external);
    case tensor_field::kDataLocation:
      tensor.is_external = field.integer() == 1;
      return;
    default:
      return;
  }
}

class TensorReader {
 public:
  TensorReader(std::string_view message, const Source& source, ExternalFiles& external)
      : message_(message), source_(source), external_(external) {}

  NamedTensor read() {
    find_name();
    try {
      for (FieldReader field(message_, source_, "a tensor"); field.next();) {
        note_field(field, source_, fields_);
      }
      return {fields_.name, make_tensor()};
    } catch (const Error& error) {
      fail_bad_input("tensor '{}': {}", fields_.name, error.what());
    }
  }

 private:
  // Read first, so that every error can name the tensor.
  void find_name() {
    for (FieldReader field(message_, source_, "a tensor"); field.next();) {
      if (field.number() == tensor_field::kName) fields_.name = field.text();
    }
  }

  Tensor make_tensor() {
    type_ = data_type_or_fail(fields_.type_number);
    if (type_ == DataType::Undefined) fail_bad_input("its element type is undefined");
    const auto elements = checked_product(fields_.dims);
    if (!elements) {
      fail_bad_input("its dimensions {} are negative or their product overflows",
                     join_dims(fields_.dims));
    }
    elements_ = *elements;
    const auto size = byte_size(type_, elements_);
    if (!size) fail_bad_input("its dimensions {} overflow", join_dims(fields_.dims));
    byte_size_ = static_cast<std::size_t>(*size);
    return fields_.is_external ? external_tensor() : inline_tensor();
  }

  Tensor inline_tensor() {
    if (fields_.raw && !fields_.raw->empty()) {
      if (fields_.data_field != 0) fail_bad_input("it stores its data in two different fields");
      if (type_ == DataType::String) fail_bad_input("strings cannot be stored as raw data");
      expect_bytes(fields_.raw->size());
      return view(*fields_.raw);
    }
    if (fields_.data_field != 0 && fields_.data_field != field_for(type_)) {
      fail_bad_input("{} elements cannot be stored in field {}", name(type_), fields_.data_field);
    }
    if (type_ == DataType::String) return strings();
    if (is_varint_field(field_for(type_))) return decoded_varints();
    expect_bytes(fields_.data.bytes);
    const bool lies_in_one_piece = fields_.data.last_piece.size() == byte_size_;
    return lies_in_one_piece ? view(fields_.data.last_piece) : gathered();
  }

  void expect_bytes(std::size_t present) const {
    if (present == byte_size_) return;
    fail_bad_input("{} elements of {} need {} bytes, {} are there", join_or_one(), name(type_),
                   byte_size_, present);
  }

  void expect_count(std::size_t present, std::size_t wanted) const {
    if (present == wanted) return;
    fail_bad_input("{} elements of {} need {} stored values, {} are there", join_or_one(),
                   name(type_), wanted, present);
  }

  // Narrow integers are stored in wider ones, where any number could stand.
  void expect_in_range(std::int64_t value) const {
    const bool is_signed = type_ == DataType::Int8 || type_ == DataType::Int16;
    const bool is_unsigned = type_ == DataType::UInt8 || type_ == DataType::UInt16;
    if (!is_signed && !is_unsigned) return;
    const std::int64_t count = std::int64_t{1} << bits(type_);
    const std::int64_t low = is_signed ? -count / 2 : 0;
    if (value < low || value >= low + count) {
      fail_bad_input("it holds {}, which no {} can be; write the model again", value, name(type_));
    }
  }

  std::string join_or_one() const { return fields_.dims.empty() ? "1" : join_dims(fields_.dims); }

  Tensor view(std::string_view payload) {
    const std::size_t offset = payload.empty() ? 0 : source_.offset_of(payload);
    return Tensor(type_, std::move(fields_.dims), source_.storage, offset);
  }

  Tensor strings() {
    expect_count(fields_.data.count, static_cast<std::size_t>(elements_));
    std::vector<std::string> texts;
    texts.reserve(fields_.data.count);
    for (FieldReader field(message_, source_, "a tensor"); field.next();) {
      if (field.number() == tensor_field::kStringData) texts.emplace_back(field.bytes());
    }
    return Tensor(std::move(fields_.dims), std::move(texts));
  }

  // Fixed-width numbers stored in several pieces or one at a time.
  Tensor gathered() {
    std::vector<std::byte> bytes(byte_size_);
    std::size_t filled = 0;
    for (FieldReader field(message_, source_, "a tensor"); field.next();) {
      if (field.number() != fields_.data_field) continue;
      if (field.wire_type() == WireType::Bytes) {
        append(bytes, filled, field.bytes().data(), field.bytes().size());
      } else if (field.number() == tensor_field::kDoubleData) {
        const double value = field.long_real();
        append(bytes, filled, &value, sizeof(value));
      } else {
        const float value = field.real();
        append(bytes, filled, &value, sizeof(value));
      }
    }
    return Tensor(type_, std::move(fields_.dims), heap_storage(std::move(bytes)));
  }

  static void append(std::vector<std::byte>& bytes, std::size_t& filled, const void* from,
                     std::size_t count) {
    if (count == 0) return;
    std::memcpy(bytes.data() + filled, from, count);
    filled += count;
  }

  // One varint an element, or one for each pair of 4-bit elements; its low bytes are the element.
  Tensor decoded_varints() {
    const std::size_t width = bits(type_) < 8 ? 1 : static_cast<std::size_t>(bits(type_)) / 8;
    expect_count(fields_.data.count, byte_size_ / width);
    std::vector<std::byte> bytes(byte_size_);
    std::size_t filled = 0;
    for (FieldReader field(message_, source_, "a tensor"); field.next();) {
      if (field.number() != fields_.data_field) continue;
      field.each_integer([&](std::int64_t value) {
        if (type_ == DataType::Bool) value = value != 0 ? 1 : 0;
        expect_in_range(value);
        append(bytes, filled, &value, width);
      });
    }
    return Tensor(type_, std::move(fields_.dims), heap_storage(std::move(bytes)));
  }

  Tensor external_tensor() {
    if (type_ == DataType::String) fail_bad_input("strings cannot be stored as external data");
    if (fields_.data_field != 0 || (fields_.raw && !fields_.raw->empty())) {
      fail_bad_input("it stores its data in the model and in an external file");
    }
    if (!fields_.external.location) fail_bad_input("its external data has no location");
    if (fields_.external.length) {
      expect_bytes(static_cast<std::size_t>(*fields_.external.length));
    }
    auto storage = external_.open(*fields_.external.location);
    const auto offset = static_cast<std::size_t>(fields_.external.offset.value_or(0));
    const std::size_t size = storage->size();
    if (byte_size_ > size || offset > size - byte_size_) {
      fail_bad_input("external data '{}' has {} bytes, but {} bytes at {} are needed",
                     *fields_.external.location, size, byte_size_, offset);
    }
    return Tensor(type_, std::move(fields_.dims), std::move(storage), offset);
  }

  std::string_view message_;
  const Source& source_;
  ExternalFiles& external_;
  TensorFields fields_ = {};
  DataType type_ = DataType::Undefined;
  std::int64_t elements_ = 0;
  std::size_t byte_size_ = 0;
};

}  // namespace

DataType data_type_or_fail(std::int64_t number) {
  const auto type = data_type_from_onnx(number);
  if (!type)
    fail_bad_input("element type {} is not known; assay knows those up to opset 21", number);
  return *type;
}

NamedTensor read_tensor(std::string_view message, const Source& source, ExternalFiles& external) {
  return TensorReader(message, source, external).read();
}

}  // namespace assay::onnx
