#include "data/zip_directory.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/zip_format.h"

namespace assay::data {

namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kWideEndBytes = 56;
constexpr std::size_t kWideLocatorBytes = 20;
constexpr std::size_t kLongestComment = 65'535;
constexpr std::uint16_t kIsEncrypted = 1 | 1 << 6 | 1 << 13;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

// Reads a record's numbers one after the other.
class Record {
 public:
  Record(const MappedFile& file, std::uint64_t at, std::string_view what)
      : file_(file), at_(at), what_(what) {}

  template <std::unsigned_integral Number>
  Number next() {
    Number number{};
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::string_view text(std::size_t length) {
    const auto bytes = take(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void skip(std::size_t length) { take(length); }
  std::uint64_t at() const { return at_; }

  // Every record begins with its own.
  void expect_signature(std::uint32_t wanted) {
    const std::uint64_t start = at_;
    if (next<std::uint32_t>() == wanted) return;
    fail_bad_input("{}: byte {}: expected {}, its signature is missing", file_.name(), start,
                   what_);
  }

 private:
  std::span<const std::byte> take(std::size_t length) {
    const auto bytes = file_.bytes();
    if (at_ > bytes.size() || length > bytes.size() - at_) {
      fail_bad_input("{}: byte {}: {} goes beyond the file's {} bytes", file_.name(), at_, what_,
                     bytes.size());
    }
    return bytes.subspan(std::exchange(at_, at_ + length), length);
  }

  const MappedFile& file_;
  std::uint64_t at_ = 0;
  std::string_view what_;
};

bool has_signature(const MappedFile& file, std::size_t at, std::uint32_t wanted) {
  return Record(file, at, "a signature").next<std::uint32_t>() == wanted;
}

// The last record of the file: only its comment may follow, and must reach to the end.
std::size_t find_end(const MappedFile& file) {
  constexpr std::size_t kCommentLengthAt = 20;
  const std::size_t size = file.bytes().size();
  const std::size_t farthest = kEndBytes + kLongestComment;
  for (std::size_t back = kEndBytes; back <= std::min(size, farthest); ++back) {
    const std::size_t at = size - back;
    if (!has_signature(file, at, kEndSignature)) continue;
    Record comment(file, at + kCommentLengthAt, "the length of a comment");
    if (comment.next<std::uint16_t>() == back - kEndBytes) return at;
  }
  fail_bad_input(
      "{}: not a NumPy .npz file, or cut short: the {} bytes do not end with a ZIP directory",
      file.name(), size);
}

// Where the directory lies, and how many entries it has.
struct Directory {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
  std::uint64_t end = 0;  // where it must end: the next record begins there
};

// `Disk`, `Count` and `Size` are wider in the 64-bit record.
template <typename Disk, typename Count, typename Size>
Directory read_directory_place(const MappedFile& file, Record& record, std::uint64_t end) {
  const std::uint64_t disks_at = record.at();
  const auto disk = record.next<Disk>();
  const auto first_disk = record.next<Disk>();
  const auto entries_here = record.next<Count>();
  Directory directory{.entries = record.next<Count>(), .end = end};
  directory.size = record.next<Size>();
  directory.start = record.next<Size>();
  if (disk != 0 || first_disk != 0 || entries_here != directory.entries) {
    fail_bad_input("{}: byte {}: a ZIP file in several volumes, join them into one", file.name(),
                   disks_at);
  }
  return directory;
}

// Python writes the 64-bit record as soon as 31 bits are too few, so that its presence decides, not
// whether the short fields are full.
std::optional<Directory> find_wide_directory(const MappedFile& file, std::size_t end_at) {
  if (end_at < kWideLocatorBytes + kWideEndBytes) return std::nullopt;
  const std::size_t locator_at = end_at - kWideLocatorBytes;
  if (!has_signature(file, locator_at, kWideLocatorSignature)) return std::nullopt;
  Record locator(file, locator_at, "the place of a ZIP64 end record");
  locator.skip(8);  // signature, volume
  const auto at = locator.next<std::uint64_t>();
  Record record(file, at, "a ZIP64 end record");
  record.expect_signature(kWideEndSignature);
  record.skip(12);  // size, versions
  return read_directory_place<std::uint32_t, std::uint64_t, std::uint64_t>(file, record, at);
}

Directory find_directory(const MappedFile& file) {
  const std::size_t end_at = find_end(file);
  if (const auto wide = find_wide_directory(file, end_at)) return *wide;
  Record record(file, end_at, "the end record");
  record.skip(4);
  return read_directory_place<std::uint16_t, std::uint16_t, std::uint32_t>(file, record, end_at);
}

void check_place(const MappedFile& file, const Directory& directory) {
  const bool ends_where_it_must =
      directory.start <= directory.end && directory.size == directory.end - directory.start;
  if (ends_where_it_must) return;
  fail_bad_input("{}: byte {}: a directory of {} bytes from byte {} on does not end here",
                 file.name(), directory.end, directory.size, directory.start);
}

std::string shown(std::string_view member_name) {
  return without_control_characters(member_name);
}

// Replaces the sizes that are too large for their short fields by those of the extra field.
class WideSizes {
 public:
  WideSizes(const MappedFile& file, std::uint64_t extra_at, std::size_t extra_length)
      : record_(file, extra_at, "a 64-bit size") {
    const std::uint64_t end = extra_at + extra_length;
    constexpr std::size_t kFieldHeader = 4;
    while (record_.at() + kFieldHeader <= end) {
      const auto id = record_.next<std::uint16_t>();
      const auto length = record_.next<std::uint16_t>();
      if (id == kWideSizes) {
        end_ = std::min(end, record_.at() + length);
        return;
      }
      record_.skip(length);
    }
  }

  // In the order of the format: size, packed size, place.
  std::uint64_t widened(std::uint32_t number) {
    const bool is_there = record_.at() + sizeof(std::uint64_t) <= end_;
    return number == kSeeWideSizes && is_there ? record_.next<std::uint64_t>() : number;
  }

 private:
  Record record_;
  std::uint64_t end_ = 0;  // of the field; 0 where there is none
};

void check_method(const MappedFile& file, std::uint64_t entry_at, const std::string& member,
                  std::uint16_t flags, std::uint16_t method) {
  if ((flags & kIsEncrypted) != 0) {
    fail_bad_input("{}: byte {}: '{}' is encrypted, which is not supported", file.name(), entry_at,
                   shown(member));
  }
  if (method != kStored && method != kDeflated) {
    fail_bad_input(
        "{}: byte {}: '{}' is packed by method {}, only stored (0) and deflated (8) are supported",
        file.name(), entry_at, shown(member), method);
  }
}

// One entry of the directory; leaves `record` at the next.
ZipMember read_entry(const MappedFile& file, Record& record) {
  const std::uint64_t entry_at = record.at();
  ZipMember member;
  record.expect_signature(kEntrySignature);
  record.skip(4);  // versions
  const auto flags = record.next<std::uint16_t>();
  const auto method = record.next<std::uint16_t>();
  record.skip(4);  // time
  member.checksum = record.next<std::uint32_t>();
  const auto packed_size = record.next<std::uint32_t>();
  const auto size = record.next<std::uint32_t>();
  const auto name_length = record.next<std::uint16_t>();
  const auto extra_length = record.next<std::uint16_t>();
  const auto comment_length = record.next<std::uint16_t>();
  record.skip(8);  // volume, attributes
  const auto header_at = record.next<std::uint32_t>();
  member.name = record.text(name_length);
  WideSizes wide(file, record.at(), extra_length);
  member.size = wide.widened(size);
  member.packed_size = wide.widened(packed_size);
  member.header_at = wide.widened(header_at);
  member.is_deflated = method == kDeflated;
  record.skip(std::size_t{extra_length} + comment_length);
  check_method(file, entry_at, member.name, flags, method);
  return member;
}

// The member's own header must agree with the directory.
void find_data(const MappedFile& file, ZipMember& member) {
  Record record(file, member.header_at, "the header of a member");
  record.expect_signature(kMemberSignature);
  record.skip(2);  // version
  const auto flags = record.next<std::uint16_t>();
  const auto method = record.next<std::uint16_t>();
  record.skip(16);  // time, checksum, sizes
  const auto name_length = record.next<std::uint16_t>();
  const auto extra_length = record.next<std::uint16_t>();
  check_method(file, member.header_at, member.name, flags, method);
  const bool agrees =
      record.text(name_length) == member.name && (method == kDeflated) == member.is_deflated;
  if (!agrees) {
    fail_bad_input("{}: byte {}: this member is not the '{}' that the directory lists here",
                   file.name(), member.header_at, shown(member.name));
  }
  record.skip(extra_length);
  member.data_at = record.at();
}

// Sizes that the packed bytes cannot reach are refused before unpacking.
void check_size(const MappedFile& file, const ZipMember& member) {
  constexpr std::uint64_t kMostFromOne = 1032;  // bytes that deflate makes of one
  const bool is_possible = member.is_deflated ? member.size / kMostFromOne <= member.packed_size
                                              : member.size == member.packed_size;
  if (is_possible) return;
  fail_bad_input("{}: byte {}: '{}' cannot hold {} bytes, {} in {}", file.name(), member.header_at,
                 shown(member.name), member.size, member.is_deflated ? "deflated" : "stored",
                 member.packed_size);
}

// A byte belongs to one member only, and none to the directory.
void check_apart(const MappedFile& file, std::vector<ZipMember> members, std::uint64_t end) {
  std::ranges::sort(members, {}, &ZipMember::header_at);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ZipMember& member = members[i];
    const std::uint64_t next = i + 1 < members.size() ? members[i + 1].header_at : end;
    if (member.data_at <= next && member.packed_size <= next - member.data_at) continue;
    fail_bad_input("{}: byte {}: '{}' of {} bytes overlaps what begins at byte {}", file.name(),
                   member.data_at, shown(member.name), member.packed_size, next);
  }
}

void check_names_differ(const MappedFile& file, const std::vector<ZipMember>& members) {
  std::set<std::string_view> names;
  for (const ZipMember& member : members) {
    if (names.insert(member.name).second) continue;
    fail_bad_input("{}: byte {}: a second member is called '{}'", file.name(), member.header_at,
                   shown(member.name));
  }
}

std::vector<ZipMember> read_entries(const MappedFile& file, const Directory& directory) {
  Record record(file, directory.start, "an entry of the directory");
  std::vector<ZipMember> members;
  while (record.at() < directory.end) members.push_back(read_entry(file, record));
  if (record.at() == directory.end && members.size() == directory.entries) return members;
  fail_bad_input("{}: byte {}: {} entries, {} announced, reach byte {}, not {}", file.name(),
                 directory.start, members.size(), directory.entries, record.at(), directory.end);
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const MappedFile& file) {
  const Directory directory = find_directory(file);
  check_place(file, directory);
  auto members = read_entries(file, directory);
  check_names_differ(file, members);
  for (ZipMember& member : members) {
    find_data(file, member);
    check_size(file, member);
  }
  check_apart(file, members, directory.start);
  file.check_intact();
  return members;
}

}  // namespace assay::data
