#include "data/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "base/free_memory.h"
#include "base/mapped_file.h"

namespace assay::data {

namespace {

class PlainBytes : public ByteSource {
 public:
  PlainBytes(std::shared_ptr<const MappedFile> file, std::span<const std::byte> part)
      : file_(std::move(file)), rest_(part) {}

  std::size_t read(std::span<std::byte> bytes) override {
    const std::size_t count = std::min(bytes.size(), rest_.size());
    std::copy_n(rest_.begin(), count, bytes.begin());
    rest_ = rest_.subspan(count);
    file_->check_intact();
    return count;
  }
  std::uint64_t most_left() const override { return rest_.size(); }
  const std::string& name() const override { return file_->name(); }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> rest_;
};

// zlib's window bits, which also select the container format.
int window_bits(Compression compression) {
  constexpr int kWithGzipHeader = MAX_WBITS + 16;
  return compression == Compression::Gzip ? kWithGzipHeader : -MAX_WBITS;
}

class InflatedBytes : public ByteSource {
 public:
  InflatedBytes(std::shared_ptr<const MappedFile> file, std::span<const std::byte> part,
                Compression compression)
      : file_(std::move(file)), rest_(part) {
    if (inflateInit2(&stream_, window_bits(compression)) != Z_OK)
      fail_running("zlib cannot be initialised");
  }
  InflatedBytes(const InflatedBytes&) = delete;
  InflatedBytes& operator=(const InflatedBytes&) = delete;
  ~InflatedBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::byte> bytes) override {
    std::size_t done = 0;
    while (done < bytes.size() && !has_ended_) done += read_some(bytes.subspan(done));
    return done;
  }
  std::uint64_t most_left() const override {
    constexpr std::uint64_t kMostFromOne = 1032;  // bytes that deflate makes of one
    constexpr std::uint64_t kBuffered = 65'536;   // read but not yet returned
    return rest_.size() * kMostFromOne + kBuffered;
  }
  const std::string& name() const override { return file_->name(); }

 private:
  static constexpr std::size_t kAtOnce = std::numeric_limits<uInt>::max() / 2;

  std::size_t read_some(std::span<std::byte> bytes) {
    const std::size_t given = std::min(rest_.size(), kAtOnce);
    const std::size_t wanted = std::min(bytes.size(), kAtOnce);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    file_->check_intact();
    const std::size_t used = given - stream_.avail_in;
    const std::size_t made = wanted - stream_.avail_out;
    rest_ = rest_.subspan(used);
    has_ended_ = answer == Z_STREAM_END;
    if (answer == Z_OK && (used > 0 || made > 0)) return made;
    if (!has_ended_) refuse();
    return made;
  }

  [[noreturn]] void refuse() const {
    const auto at = rest_.data() - file_->bytes().data();
    if (rest_.empty()) fail_bad_input("{}: byte {}: its compressed data ends too soon", name(), at);
    fail_bad_input("{}: byte {}: its compressed data is damaged ({})", name(), at,
                   stream_.msg != nullptr ? stream_.msg : "no reason given");
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> rest_;
  z_stream stream_ = {};
  bool has_ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const bool is_gzip =
      bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
  return open_bytes(std::move(file), bytes, is_gzip ? Compression::Gzip : Compression::None);
}

std::unique_ptr<ByteSource> open_bytes(std::shared_ptr<const MappedFile> file,
                                       std::span<const std::byte> part, Compression compression) {
  if (compression == Compression::None) return std::make_unique<PlainBytes>(std::move(file), part);
  return std::make_unique<InflatedBytes>(std::move(file), part, compression);
}

void ByteReader::fill(std::span<std::byte> bytes, std::string_view what) {
  const std::size_t got = source_.read(bytes);
  if (got < bytes.size()) {
    fail_bad_input("{}: ends at byte {}, within {}: {} of {} bytes are there", name(), at_ + got,
                   what, got, bytes.size());
  }
  at_ += got;
}

std::vector<std::byte> ByteReader::take(std::int64_t count, std::string_view what) {
  check_memory_for(count, [&] { return name(); });
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  fill(bytes, what);
  return bytes;
}

bool ByteReader::has_more() {
  std::byte next{};
  return source_.read({&next, 1}) != 0;
}

}  // namespace assay::data
