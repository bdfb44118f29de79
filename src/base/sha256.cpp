#include "base/sha256.h"

#include <fmt/format.h>

#include <nettle/sha2.h>

#include <array>

#include "base/fail.h"
#include "base/mapped_file.h"

namespace assay {

std::string sha256_of_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  std::string digest = sha256_of({file->bytes()});
  file->check_intact();
  return digest;
}

std::string sha256_of(const std::vector<std::span<const std::byte>>& parts) {
  sha256_ctx context;
  sha256_init(&context);
  for (const auto part : parts) {
    sha256_update(&context, part.size(), reinterpret_cast<const std::uint8_t*>(part.data()));
  }
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace assay
