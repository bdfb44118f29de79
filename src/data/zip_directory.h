// The positions of the members in a ZIP file.
//
// The central directory is accepted only if it agrees with what it points to: members lie inside
// the file without overlap, under the name that the directory gives them, with possible sizes.
// Anything else is an Error that names the file and the byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace assay::data {

struct ZipMember {
  std::string name = {};
  bool is_deflated = false;
  std::uint32_t checksum = 0;  // CRC-32 of the content
  std::uint64_t packed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_at = 0;  // bytes of the file
  std::uint64_t data_at = 0;
};

// In the directory's order.
std::vector<ZipMember> read_zip_directory(const MappedFile& file);

}  // namespace assay::data
