// A sequential byte stream from a plain or compressed file, which is never decompressed further
// than requested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace assay::data {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `bytes`, or fewer where the source ends; returns how many.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // An upper bound of the bytes that can follow, to check a file's claims. Exact for uncompressed
  // data.
  virtual std::uint64_t most_left() const = 0;
  virtual const std::string& name() const = 0;
};

enum class Compression { None, Gzip, Deflate };  // the last is raw, without header and checksum

// A whole file; whether gzip compressed it is told by its first two bytes.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);
// A part of a file.
std::unique_ptr<ByteSource> open_bytes(std::shared_ptr<const MappedFile> file,
                                       std::span<const std::byte> part, Compression compression);

// Reads a source from its beginning and tracks the position. A source that ends too soon
// is an Error that says where, and within `what`.
class ByteReader {
 public:
  explicit ByteReader(ByteSource& source) : source_(source) {}

  void fill(std::span<std::byte> bytes, std::string_view what);
  // Memory is allocated only after checking that the data can be there.
  std::vector<std::byte> take(std::int64_t count, std::string_view what);
  bool has_more();  // reads one byte to find out
  std::size_t at() const { return at_; }
  std::uint64_t most_left() const { return source_.most_left(); }
  const std::string& name() const { return source_.name(); }

 private:
  ByteSource& source_;
  std::size_t at_ = 0;
};

}  // namespace assay::data
