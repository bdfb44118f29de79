// Bytes one after the other, from a plain file or from one compressed with gzip, which never
// becomes larger in memory than what is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace assay {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `bytes`, or fewer where the file ends; returns how many.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  // No more than so many can follow: what a file claims to hold is checked against it.
  virtual std::uint64_t most_left() const = 0;
  virtual const std::string& name() const = 0;
};

// Told apart by the first two bytes.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path);

}  // namespace assay
