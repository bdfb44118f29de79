// A read-only memory mapping of a regular file.
//
// If the file is truncated while it is mapped, reading the missing pages would kill the process
// with SIGBUS. Instead the pages read as zeros and `check_intact` throws. A reader calls it once,
// after reading and before using the result.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace assay {

class MappedFile {
 public:
  // `described_as` is the name used in messages.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  // Takes ownership of the open descriptor, which must refer to a regular file.
  static std::shared_ptr<const MappedFile> adopt(int descriptor, std::string described_as);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  // The pages inside this range need not stay in memory; reading them loads them again.
  void release(std::size_t offset, std::size_t size) const;
  void check_intact() const;  // throws if the file shrank since it was mapped

 private:
  MappedFile(std::span<const std::byte> bytes, std::string name);

  std::span<const std::byte> bytes_;
  std::string name_;
  int guard_slot_ = -1;
};

}  // namespace assay
