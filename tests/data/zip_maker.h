// Writes ZIP files, right ones and wrong ones: each number of a member can be replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data_files.h"

namespace assay {

// `number` in `bytes` bytes, lowest first.
inline std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

struct MadeMember {
  std::string name = {};
  std::string content = {};
  bool is_deflated = false;
  // What is written instead of the truth.
  std::uint16_t flags = 0;
  std::optional<std::uint16_t> method = {};
  std::optional<std::uint64_t> size = {};
  std::optional<std::uint64_t> packed_size = {};
  std::optional<std::uint32_t> checksum = {};
  std::optional<std::uint64_t> header_at = {};
  std::optional<std::string> inner_name = {};
};

class ZipMaker {
 public:
  bool is_wide = false;  // with all sizes and places in the 64-bit records
  std::string comment = {};

  void add(const MadeMember& member) {
    const std::string packed = member.is_deflated ? deflated(member.content, -15) : member.content;
    const std::uint64_t header_at = file_.size();
    file_ += little(0x04034b50, 4) + little(20, 2) + shared_fields(member, packed) +
             little(member.name.size(), 2) + little(wide_local().size(), 2) +
             member.inner_name.value_or(member.name) + wide_local() + packed;
    directory_ += entry(member, packed, member.header_at.value_or(header_at));
    ++count_;
  }

  std::string made() const {
    const std::uint64_t start = file_.size();
    std::string end;
    if (is_wide) {
      end += little(0x06064b50, 4) + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
             little(count_, 8) + little(count_, 8) + little(directory_.size(), 8) +
             little(start, 8);
      end += little(0x07064b50, 4) + little(0, 4) + little(start + directory_.size(), 8) +
             little(1, 4);
    }
    const std::uint64_t shown_start = is_wide ? 0xffffffff : start;
    end += little(0x06054b50, 4) + little(0, 4) + little(count_, 2) + little(count_, 2) +
           little(directory_.size(), 4) + little(shown_start, 4) + little(comment.size(), 2);
    return file_ + directory_ + end + comment;
  }

 private:
  // NumPy writes such a field before every member, whatever its size.
  static std::string wide_local() { return little(1, 2) + little(16, 2) + std::string(16, '\0'); }

  std::uint64_t size_of(const MadeMember& member) const {
    return member.size.value_or(member.content.size());
  }

  // Flags to sizes, which both headers have.
  std::string shared_fields(const MadeMember& member, const std::string& packed) const {
    const auto* bytes = reinterpret_cast<const Bytef*>(member.content.data());
    const auto checksum = crc32_z(0, bytes, member.content.size());
    const std::uint16_t method = member.is_deflated ? 8 : 0;
    const auto packed_size = member.packed_size.value_or(packed.size());
    return little(member.flags, 2) + little(member.method.value_or(method), 2) + little(0, 4) +
           little(member.checksum.value_or(static_cast<std::uint32_t>(checksum)), 4) +
           little(is_wide ? 0xffffffff : packed_size, 4) +
           little(is_wide ? 0xffffffff : size_of(member), 4);
  }

  std::string entry(const MadeMember& member, const std::string& packed,
                    std::uint64_t header_at) const {
    std::string extra;
    if (is_wide) {
      extra = little(0x5455, 2) + little(1, 2) + "t" + little(1, 2) + little(24, 2) +
              little(size_of(member), 8) + little(member.packed_size.value_or(packed.size()), 8) +
              little(header_at, 8);
    }
    return little(0x02014b50, 4) + little(20, 2) + little(20, 2) + shared_fields(member, packed) +
           little(member.name.size(), 2) + little(extra.size(), 2) + little(0, 2) + little(0, 8) +
           little(is_wide ? 0xffffffff : header_at, 4) + member.name + extra;
  }

  std::string file_;
  std::string directory_;
  std::uint64_t count_ = 0;
};

}  // namespace assay
