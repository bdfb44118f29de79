// Results, one line of JSON each, in a file that only grows.
//
// A line carries a checksum and is written and synced at once, so that a crash costs at most the
// line being written. What is left of such a line is skipped when reading, and new lines do not
// touch it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/json_parts.h"

namespace assay::sweep {

class Journal {
 public:
  // Made if it is not there. Throws an Error if another process writes to it.
  explicit Journal(std::filesystem::path file);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  // Throws an Error if it cannot be written, for example because the disk is full; the lines before
  // are then as they were.
  void append(const report::Json& record);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

struct JournalContent {
  std::vector<report::Json> records = {};
  std::size_t damaged_lines = 0;
};
JournalContent read_journal(const std::filesystem::path& file);

std::string journal_line(const report::Json& record);

// Holds a folder while it is worked on: exclusively, or together with others who share it. Throws
// an Error if somebody else holds it otherwise.
class FolderLock {
 public:
  enum class Mode { Exclusive, Shared };
  FolderLock(const std::filesystem::path& folder, Mode mode);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int descriptor_ = -1;
};

}  // namespace assay::sweep
