#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fail.h"
#include "base/system_error.h"

namespace assay {

namespace {

constexpr std::size_t kBufferedBytes = std::size_t{1} << 16;

void sync_directory_of(const std::filesystem::path& target) {
  auto folder = target.parent_path();
  if (folder.empty()) folder = ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

namespace {

// Renaming would replace a link by a file: write to the link's target instead.
std::filesystem::path behind_links(const std::filesystem::path& target) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(target, ignored)) return target;
  return std::filesystem::weakly_canonical(target, ignored);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(behind_links(target)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) {
    fail_bad_input("{}: is a directory, give the name of a file to write", target_.string());
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail_bad_input("{}: is not a regular file, and would be replaced by one", target_.string());
  }
  temporary_ = target_.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0)
    fail_running("{}: cannot be written: {}", target_.string(), last_system_error());
  const auto mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  bytes_written_ += bytes.size();
  if (buffer_.size() + bytes.size() < kBufferedBytes) {
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return;
  }
  flush();
  write_through(bytes);
}

void AtomicFile::flush() {
  const std::string pending = std::exchange(buffer_, {});
  write_through(std::as_bytes(std::span(pending)));
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      fail_running("{}: cannot be written: {}", target_.string(), last_system_error());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0)
    fail_running("{}: cannot be synced: {}", target_.string(), last_system_error());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail_running("{}: cannot be put in place: {}", target_.string(), last_system_error());
  }
  ::close(std::exchange(descriptor_, -1));
  sync_directory_of(target_);
}

void write_file(const std::filesystem::path& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem || !std::filesystem::is_directory(folder, problem)) {
    fail_bad_input("{}: the folder cannot be made: {}; choose another place", folder.string(),
                   problem ? problem.message() : "a file of that name is in the way");
  }
}

}  // namespace assay
