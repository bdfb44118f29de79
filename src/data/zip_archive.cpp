#include "data/zip_archive.h"

#include <zlib.h>

#include <algorithm>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace assay::data {

namespace {

// A member's content, compared with what the directory declares.
class MemberBytes : public ByteSource {
 public:
  MemberBytes(std::unique_ptr<ByteSource> packed, const ZipMember& member)
      : unpacked_(std::move(packed)),
        name_(fmt::format("{}, '{}'", unpacked_->name(), without_control_characters(member.name))),
        member_(member),
        left_(member.size) {}

  std::size_t read(std::span<std::byte> bytes) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
    if (wanted == 0) return 0;
    const std::size_t got = unpacked_->read(bytes.first(wanted));
    if (got < wanted) refuse_size("fewer");
    checksum_ = crc32_z(checksum_, reinterpret_cast<const Bytef*>(bytes.data()), got);
    left_ -= got;
    if (left_ == 0) check_end();
    return got;
  }
  std::uint64_t most_left() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  void check_end() {
    std::byte beyond{};
    if (unpacked_->read({&beyond, 1}) != 0) refuse_size("more");
    if (checksum_ == member_.checksum) return;
    fail_bad_input("{}: byte {}: damaged, its checksum is {:08x} instead of {:08x}", name_,
                   member_.data_at, checksum_, member_.checksum);
  }

  [[noreturn]] void refuse_size(std::string_view how_many) const {
    fail_bad_input("{}: byte {}: holds {} bytes than the {} it declares", name_, member_.data_at,
                   how_many, member_.size);
  }

  std::unique_ptr<ByteSource> unpacked_;
  std::string name_;
  ZipMember member_;
  std::uint64_t left_ = 0;
  uLong checksum_ = 0;
};

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path)
    : file_(MappedFile::open(path)), members_(read_zip_directory(*file_)) {}

const std::string& ZipArchive::name() const {
  return file_->name();
}

std::unique_ptr<ByteSource> ZipArchive::open(const ZipMember& member) const {
  const auto part = file_->bytes().subspan(static_cast<std::size_t>(member.data_at),
                                           static_cast<std::size_t>(member.packed_size));
  const auto compression = member.is_deflated ? Compression::Deflate : Compression::None;
  return std::make_unique<MemberBytes>(open_bytes(file_, part, compression), member);
}

}  // namespace assay::data
