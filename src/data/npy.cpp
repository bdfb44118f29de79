#include "assay/npy.h"

#include <bit>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/npy_header.h"
#include "graph/half.h"

namespace assay {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they are stored");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kLongestHeader = 65'536;
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the header's text lies in the file.
struct HeaderPlace {
  std::size_t start = 0;
  std::size_t length = 0;
};

// Version 1 stores the length in 2 bytes, 2 and 3 in 4 bytes, little endian.
HeaderPlace find_header(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text = as_text(file);
  if (!text.starts_with(kMagic)) {
    fail_bad_input("{}: not a NumPy .npy file, which begins with the byte 0x93 and NUMPY", name);
  }
  std::size_t at = kMagic.size() + kVersionBytes;
  if (file.size() < at)
    fail_bad_input("{}: ends at byte {}, within its version", name, file.size());
  const int version = std::to_integer<int>(file[kMagic.size()]);
  if (version < 1 || version > 3) {
    fail_bad_input("{}: byte {}: format version {} is not known, only 1 to 3", name, kMagic.size(),
                   version);
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (file.size() < at + length_bytes) {
    fail_bad_input("{}: ends at byte {}, within the length of its header", name, file.size());
  }
  std::uint32_t length = 0;
  std::memcpy(&length, file.data() + at, length_bytes);
  at += length_bytes;
  if (length > kLongestHeader || length > file.size() - at) {
    fail_bad_input("{}: byte {}: a header of {} bytes, but {} follow and {} are the most accepted",
                   name, at - length_bytes, length, file.size() - at, kLongestHeader);
  }
  return {at, length};
}

// The array's bytes, which must be exactly what the shape asks for.
std::span<const std::byte> find_data(std::span<const std::byte> file, std::size_t start,
                                     const NpyHeader& header, const std::string& name) {
  const auto elements = checked_product(header.dims);
  const auto needed = elements ? byte_size(header.type, *elements) : std::nullopt;
  if (!needed) {
    fail_bad_input("{}: shape {} has more elements than can be counted", name,
                   join_dims(header.dims));
  }
  const std::size_t present = file.size() - start;
  if (static_cast<std::uint64_t>(*needed) == present) return file.subspan(start);
  fail_bad_input("{}: byte {}: {} bytes of data, but shape {} of {} needs {}", name, start, present,
                 header.dims.empty() ? "scalar" : join_dims(header.dims), assay::name(header.type),
                 *needed);
}

// In Fortran order the first axis varies fastest.
void copy_from_fortran_order(std::span<const std::byte> from, std::span<std::byte> to,
                             const std::vector<std::int64_t>& dims, std::size_t width) {
  std::vector<std::size_t> index(dims.size(), 0);
  std::vector<std::size_t> strides(dims.size(), width);
  for (std::size_t axis = 1; axis < dims.size(); ++axis) {
    strides[axis] = strides[axis - 1] * static_cast<std::size_t>(dims[axis - 1]);
  }
  std::size_t source = 0;
  for (std::size_t target = 0; target < to.size(); target += width) {
    std::memcpy(to.data() + target, from.data() + source, width);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < static_cast<std::size_t>(dims[axis])) break;
      source -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
}

std::vector<std::byte> copy_in_order(std::span<const std::byte> data, const NpyHeader& header) {
  if (!header.fortran_order || header.dims.size() < 2) return {data.begin(), data.end()};
  std::vector<std::byte> copy(data.size());
  copy_from_fortran_order(data, copy, header.dims, static_cast<std::size_t>(bits(header.type)) / 8);
  return copy;
}

void check_bools(std::span<const std::byte> data, std::size_t start, const std::string& name) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] <= std::byte{1}) continue;
    fail_bad_input("{}: byte {}: a bool of {}, expected 0 or 1", name, start + i,
                   std::to_integer<int>(data[i]));
  }
}

Tensor as_float32(const Tensor& tensor) {
  std::vector<float> numbers;
  for (const auto stored : tensor.to_vector<std::uint16_t>()) {
    numbers.push_back(bfloat16_to_float(stored));
  }
  return Tensor::of_float(tensor.dims(), numbers);
}

// Magic, version, length and text, padded with spaces so that the data is aligned.
std::string whole_header(const Tensor& tensor) {
  constexpr std::size_t kLengthBytes = 2;
  std::string text = npy_dictionary(tensor.type(), tensor.dims());
  const std::size_t before = kMagic.size() + kVersionBytes + kLengthBytes;
  while ((before + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00'};
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const auto place = find_header(bytes, file->name());
  const std::size_t data_start = place.start + place.length;
  auto header = parse_npy_header(as_text(bytes.subspan(place.start, place.length)), place.start,
                                 file->name());
  const auto data = find_data(bytes, data_start, header, file->name());
  if (header.type == DataType::Bool) check_bools(data, data_start, file->name());
  auto storage = heap_storage(copy_in_order(data, header));
  file->check_intact();
  return Tensor(header.type, std::move(header.dims), std::move(storage));
}

void write_npy(const Tensor& tensor, const std::filesystem::path& path) {
  if (tensor.type() == DataType::BFloat16) return write_npy(as_float32(tensor), path);
  if (numpy_name(tensor.type()).empty()) {
    fail_bad_input("{}: NumPy has no element type {}, cast the tensor to a type it knows",
                   path.string(), name(tensor.type()));
  }
  AtomicFile file(path);
  file.write(whole_header(tensor));
  file.write(tensor.bytes());
  file.commit();
}

}  // namespace assay
