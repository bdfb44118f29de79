// A file that is written atomically: to a temporary file next to its target, synced, then renamed.
//
// Destroying it before `commit` removes the temporary file and leaves an existing target unchanged.
// Every failure, such as a full disk, is an Error that names the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace assay {

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  std::uint64_t bytes_written() const { return bytes_written_; }
  void commit();

 private:
  void flush();
  void write_through(std::span<const std::byte> bytes);

  std::filesystem::path target_;
  std::string temporary_;
  std::string buffer_;
  int descriptor_ = -1;
  std::uint64_t bytes_written_ = 0;
};

// The whole content at once.
void write_file(const std::filesystem::path& target, std::string_view text);

// Creates the folder and its parents, or throws an Error that says why not.
void make_folder(const std::filesystem::path& folder);

}  // namespace assay
