#include "onnx_io/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/fail.h"
#include "base/system_error.h"
#include "base/text.h"

namespace assay::onnx {

namespace {

constexpr std::size_t kLongestLocation = 4095;
// O_NONBLOCK: opening a named pipe must not wait for a writer before it is refused.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;

class MappedStorage : public Storage {
 public:
  explicit MappedStorage(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  std::size_t size() const override { return file_->bytes().size(); }
  std::span<const std::byte> bytes() const override { return file_->bytes(); }
  void release(std::size_t offset, std::size_t size) const override {
    file_->release(offset, size);
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Refuses, by its text alone, a location that cannot be beneath the model's folder.
void check_location(std::string_view location) {
  if (location.empty()) fail_bad_input("the location of its external data is empty");
  if (location.size() > kLongestLocation || location.find('\0') != std::string_view::npos) {
    fail_bad_input("the location of its external data is not a file name");
  }
  if (location.front() == '/') {
    fail_bad_input("external data '{}' has an absolute path, it must lie in the model's folder",
                   location);
  }
  for (const auto& component : split(location, '/')) {
    if (component != "..") continue;
    fail_bad_input("external data '{}' leaves the model's folder through '..'", location);
  }
}

int open_beneath(int folder, const std::string& location) {
  struct open_how how {};
  how.flags = static_cast<std::uint64_t>(kOpenFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how)));
}

// For kernels and sandboxes without openat2: one component at a time, none of them a link.
int open_by_component(int folder, const std::string& location) {
  Descriptor here(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  const auto components = split(location, '/');
  for (std::size_t i = 0; i + 1 < components.size() && here.number() >= 0; ++i) {
    if (components[i].empty() || components[i] == ".") continue;
    here = Descriptor(::openat(here.number(), components[i].c_str(),
                               O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (here.number() < 0) return -1;
  return ::openat(here.number(), components.back().c_str(), kOpenFlags);
}

[[noreturn]] void fail_to_open(const std::string& location) {
  if (errno == ELOOP || errno == EXDEV) {
    fail_bad_input("external data '{}' is reached through a link, copy the file there instead",
                   location);
  }
  fail_bad_input("external data '{}' cannot be opened: {}", location, last_system_error());
}

Descriptor open_in_folder(const std::filesystem::path& folder, const std::string& location) {
  const Descriptor root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.number() < 0) fail_to_open(location);
  Descriptor file(open_beneath(root.number(), location));
  const bool is_unavailable = errno == ENOSYS || errno == EPERM;
  if (file.number() < 0 && is_unavailable) {
    file = Descriptor(open_by_component(root.number(), location));
  }
  if (file.number() < 0) fail_to_open(location);
  return file;
}

// A second hard link may be a file from elsewhere that the model's author linked here.
void check_is_plain_file(const Descriptor& file, const std::string& location) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail_to_open(location);
  if (!S_ISREG(status.st_mode)) {
    fail_bad_input("external data '{}' is not a regular file", location);
  }
  if (status.st_nlink != 1) {
    fail_bad_input("external data '{}' is hard-linked from elsewhere, copy the file instead",
                   location);
  }
}

}  // namespace

std::shared_ptr<const Storage> mapped_storage(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<MappedStorage>(std::move(file));
}

std::shared_ptr<const Storage> ExternalFiles::open(std::string_view location) {
  if (!folder_) {
    fail_bad_input("external data is refused in a model read from memory, read it from its file");
  }
  if (const auto known = files_.find(location); known != files_.end()) {
    return known->second.storage;
  }
  check_location(location);
  const std::string name(location);
  Descriptor file = open_in_folder(*folder_, name);
  check_is_plain_file(file, name);
  auto mapping = MappedFile::adopt(file.release(), fmt::format("external data '{}'", name));
  auto storage = mapped_storage(mapping);
  files_.emplace(name, File{std::move(mapping), storage});
  return storage;
}

void ExternalFiles::check_intact() const {
  for (const auto& [location, file] : files_) file.mapping->check_intact();
}

}  // namespace assay::onnx
