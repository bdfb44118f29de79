#include "sweep/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/system_error.h"

namespace assay::sweep {

namespace {

constexpr std::string_view kLineStart = R"({"check":")";
constexpr std::string_view kRecordStart = R"(","record":)";
constexpr std::size_t kCheckDigits = 16;

std::string check_of(std::string_view record) {
  return sha256_of({std::as_bytes(std::span(record))}).substr(0, kCheckDigits);
}

// The record of a line, or nothing if the line is damaged.
std::optional<report::Json> record_of(std::string_view line) {
  const std::size_t start = kLineStart.size() + kCheckDigits + kRecordStart.size();
  if (line.size() <= start || !line.starts_with(kLineStart) || line.back() != '}') return {};
  const std::string_view check = line.substr(kLineStart.size(), kCheckDigits);
  const std::string_view record = line.substr(start, line.size() - start - 1);
  if (check_of(record) != check) return {};
  report::Json json = report::Json::parse(record, nullptr, false);
  if (json.is_discarded()) return {};
  return json;
}

int opened(const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    fail_bad_input("{}: cannot be written: {}", file.string(), last_system_error());
  }
  return descriptor;
}

void lock_or_refuse(int descriptor, int operation, const std::filesystem::path& file) {
  if (::flock(descriptor, operation | LOCK_NB) == 0) return;
  const bool is_held = errno == EWOULDBLOCK;
  const std::string why = last_system_error();
  ::close(descriptor);
  if (is_held) {
    fail_bad_input(
        "{}: another sweep is writing to this folder; wait for it, or take another "
        "output_dir",
        file.string());
  }
  fail_bad_input("{}: cannot be locked: {}", file.string(), why);
}

bool ends_within_line(int descriptor) {
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(descriptor, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::string journal_line(const report::Json& record) {
  const std::string text = report::text_of(record);
  std::string line;
  line.append(kLineStart).append(check_of(text)).append(kRecordStart).append(text);
  return line + "}\n";
}

Journal::Journal(std::filesystem::path file)
    : file_(std::move(file)), descriptor_(opened(file_, O_RDWR | O_APPEND)) {
  lock_or_refuse(descriptor_, LOCK_EX, file_);
}

Journal::~Journal() {
  ::close(descriptor_);
}

void Journal::append(const report::Json& record) {
  std::string line = journal_line(record);
  if (ends_within_line(descriptor_)) line.insert(0, "\n");
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  const bool is_whole = written == static_cast<ssize_t>(line.size());
  if (is_whole && ::fdatasync(descriptor_) == 0) return;
  const std::string why = written >= 0 && !is_whole ? "no space left" : last_system_error();
  if (::ftruncate(descriptor_, before) != 0) {
    fail_running("{}: cannot be written, and its last line is damaged: {}", file_.string(), why);
  }
  fail_running("{}: cannot be written: {}; the results before are intact", file_.string(), why);
}

JournalContent read_journal(const std::filesystem::path& file) {
  JournalContent content;
  if (std::filesystem::file_size(file) == 0) return content;
  const auto mapped = MappedFile::open(file);
  std::string_view rest(reinterpret_cast<const char*>(mapped->bytes().data()),
                        mapped->bytes().size());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.empty()) continue;
    if (auto record = record_of(line)) {
      content.records.push_back(std::move(*record));
    } else {
      ++content.damaged_lines;
    }
  }
  return content;
}

FolderLock::FolderLock(const std::filesystem::path& folder, Mode mode)
    : descriptor_(opened(folder / ".lock", O_RDWR)) {
  lock_or_refuse(descriptor_, mode == Mode::Exclusive ? LOCK_EX : LOCK_SH, folder);
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace assay::sweep
