#include "assay/npy.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/npy_header.h"
#include "data/npy_parts.h"
#include "graph/half.h"

namespace assay {

using namespace assay::data;

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they are stored");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kLongestHeader = 65'536;
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

// Lengths are stored with their lowest byte first.
std::size_t number_in(std::span<const std::byte> bytes) {
  std::size_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number * 256 + std::to_integer<std::size_t>(bytes[i]);
  }
  return number;
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

std::vector<std::byte> in_c_order(std::vector<std::byte> data, const NpyHeader& header) {
  if (!header.fortran_order || header.dims.size() < 2) return data;
  std::vector<std::byte> copy(data.size());
  copy_from_fortran_order(data, copy, header.dims, static_cast<std::size_t>(bits(header.type)) / 8);
  return copy;
}

class NpyReader {
 public:
  explicit NpyReader(ByteSource& source) : source_(source) {}

  Tensor read() {
    read_magic();
    const std::size_t length = read_header_length();
    const std::size_t start = source_.at();
    const auto text = source_.take(static_cast<std::int64_t>(length), "its header");
    header_ = parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, start,
                               source_.name());
    const std::size_t data_start = source_.at();
    auto data = source_.take(bytes_of_data(), "its data");
    if (header_.type == DataType::Bool) check_bools(data, data_start);
    auto storage = heap_storage(in_c_order(std::move(data), header_));
    return Tensor(header_.type, std::move(header_.dims), std::move(storage));
  }

 private:
  void read_magic() {
    std::array<char, kMagic.size()> magic{};
    const bool is_long_enough = source_.most_left() >= magic.size();
    if (is_long_enough) source_.fill(std::as_writable_bytes(std::span(magic)), "its first bytes");
    if (std::string_view(magic.data(), magic.size()) != kMagic) {
      fail_bad_input("{}: not a NumPy .npy file, which begins with the byte 0x93 and NUMPY",
                     source_.name());
    }
  }

  // Version 1 stores the length in 2 bytes, 2 and 3 in 4 bytes.
  std::size_t read_header_length() {
    std::array<std::byte, kVersionBytes> version{};
    source_.fill(version, "its version");
    const int major = std::to_integer<int>(version[0]);
    if (major < 1 || major > 3) {
      fail_bad_input("{}: byte {}: format version {} is not known, only 1 to 3", source_.name(),
                     kMagic.size(), major);
    }
    std::array<std::byte, 4> stored{};
    const auto used = std::span(stored).first(major == 1 ? 2 : 4);
    source_.fill(used, "the length of its header");
    const std::size_t length = number_in(used);
    if (length > kLongestHeader || length > source_.most_left()) {
      fail_bad_input(
          "{}: byte {}: a header of {} bytes, but {} follow and {} are the most accepted",
          source_.name(), source_.at() - used.size(), length, source_.most_left(), kLongestHeader);
    }
    return length;
  }

  // They must be exactly what the shape asks for.
  std::int64_t bytes_of_data() const {
    const auto elements = checked_product(header_.dims);
    const auto needed = elements ? byte_size(header_.type, *elements) : std::nullopt;
    if (!needed) {
      fail_bad_input("{}: shape {} has more elements than can be counted", source_.name(),
                     join_dims(header_.dims));
    }
    if (static_cast<std::uint64_t>(*needed) == source_.most_left()) return *needed;
    fail_bad_input("{}: byte {}: {} bytes of data, but shape {} of {} needs {}", source_.name(),
                   source_.at(), source_.most_left(),
                   header_.dims.empty() ? "scalar" : join_dims(header_.dims),
                   assay::name(header_.type), *needed);
  }

  void check_bools(std::span<const std::byte> data, std::size_t start) const {
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] <= std::byte{1}) continue;
      fail_bad_input("{}: byte {}: a bool of {}, expected 0 or 1", source_.name(), start + i,
                     std::to_integer<int>(data[i]));
    }
  }

  ByteReader source_;
  NpyHeader header_;
};

Tensor as_float32(const Tensor& tensor) {
  std::vector<float> numbers;
  for (const auto stored : tensor.to_vector<std::uint16_t>()) {
    numbers.push_back(graph::bfloat16_to_float(stored));
  }
  return Tensor::of_float(tensor.dims(), numbers);
}

}  // namespace

std::string data::npy_header(const Tensor& tensor) {
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

Tensor data::as_numpy_has_it(const Tensor& tensor, const std::filesystem::path& path) {
  if (tensor.type() == DataType::BFloat16) return as_float32(tensor);
  if (!numpy_name(tensor.type()).empty()) return tensor;
  fail_bad_input("{}: NumPy has no element type {}, cast the tensor to a type it knows",
                 path.string(), name(tensor.type()));
}

Tensor read_npy(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return read_npy(*open_bytes(std::move(file), bytes, Compression::None));
}

Tensor data::read_npy(ByteSource& source) {
  return NpyReader(source).read();
}

void write_npy(const Tensor& tensor, const std::filesystem::path& path) {
  const Tensor known = as_numpy_has_it(tensor, path);
  AtomicFile file(path);
  file.write(npy_header(known));
  file.write(known.bytes());
  file.commit();
}

}  // namespace assay
