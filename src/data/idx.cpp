// An IDX file is two zeros, a byte for the type, one for the rank, the dimensions as 32-bit numbers
// and the elements; all numbers with their highest byte first.
#include "assay/idx.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "data/byte_source.h"

namespace assay {

using namespace assay::data;

namespace {

constexpr std::size_t kMostAxes = 8;

std::optional<DataType> type_called(std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08:
      return DataType::UInt8;
    case 0x09:
      return DataType::Int8;
    case 0x0b:
      return DataType::Int16;
    case 0x0c:
      return DataType::Int32;
    case 0x0d:
      return DataType::Float32;
    case 0x0e:
      return DataType::Float64;
    default:
      return std::nullopt;
  }
}

class IdxReader {
 public:
  explicit IdxReader(ByteSource& source) : source_(source) {}

  Tensor read() {
    read_magic();
    read_dims();
    const std::int64_t needed = bytes_needed();
    if (static_cast<std::uint64_t>(needed) > source_.most_left()) {
      fail_bad_input("{}: byte {}: {} elements need {} bytes, and no more than {} can follow",
                     source_.name(), source_.at(), join_dims(dims_), needed, source_.most_left());
    }
    auto elements = source_.take(needed, "its elements");
    if (source_.has_more()) {
      fail_bad_input("{}: byte {}: goes on after the {} bytes of {} elements", source_.name(),
                     source_.at(), needed, join_dims(dims_));
    }
    turn_round(elements);
    return Tensor(type_, dims_, heap_storage(std::move(elements)));
  }

 private:
  void read_magic() {
    std::array<std::byte, 4> magic{};
    source_.fill(magic, "its first four bytes");
    if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
      fail_bad_input("{}: not an IDX file, which begins with two zero bytes", source_.name());
    }
    const auto type = type_called(magic[2]);
    if (!type) {
      fail_bad_input("{}: byte 2: 0x{:02x} is no type of an IDX file", source_.name(),
                     std::to_integer<int>(magic[2]));
    }
    type_ = *type;
    rank_ = std::to_integer<std::size_t>(magic[3]);
    if (rank_ == 0 || rank_ > kMostAxes) {
      fail_bad_input("{}: byte 3: {} axes, but 1 to {} are accepted", source_.name(), rank_,
                     kMostAxes);
    }
  }

  void read_dims() {
    for (std::size_t axis = 0; axis < rank_; ++axis) {
      std::array<std::byte, 4> bytes{};
      source_.fill(bytes, "its dimensions");
      std::int64_t dim = 0;
      for (const std::byte byte : bytes) dim = dim * 256 + std::to_integer<std::int64_t>(byte);
      dims_.push_back(dim);
    }
  }

  std::int64_t bytes_needed() const {
    const auto elements = checked_product(dims_);
    const auto bytes = elements ? byte_size(type_, *elements) : std::nullopt;
    if (!bytes) {
      fail_bad_input("{}: byte 4: {} are more elements than can be counted", source_.name(),
                     join_dims(dims_));
    }
    return *bytes;
  }

  void turn_round(std::vector<std::byte>& elements) const {
    const auto width = static_cast<std::ptrdiff_t>(bits(type_) / 8);
    if (width == 1) return;
    for (auto at = elements.begin(); at != elements.end(); at += width) {
      std::reverse(at, at + width);
    }
  }

  ByteReader source_;
  DataType type_ = DataType::UInt8;
  std::size_t rank_ = 0;
  std::vector<std::int64_t> dims_;
};

}  // namespace

Tensor read_idx(const std::filesystem::path& path) {
  const auto source = open_bytes(path);
  return IdxReader(*source).read();
}

}  // namespace assay
