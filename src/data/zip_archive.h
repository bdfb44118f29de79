// The members of a ZIP file, stored or deflated: their content comes out in the size and with the
// checksum that the directory declares, or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/zip_directory.h"

namespace assay::data {

class ZipArchive {
 public:
  explicit ZipArchive(const std::filesystem::path& path);

  const std::string& name() const;
  const std::vector<ZipMember>& members() const { return members_; }
  // Its `most_left()` is exact; size and checksum are verified with the last byte.
  std::unique_ptr<ByteSource> open(const ZipMember& member) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipMember> members_;
};

}  // namespace assay::data
