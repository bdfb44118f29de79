// SHA-256, as 64 hexadecimal digits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace assay {

std::string sha256_of_file(const std::filesystem::path& path);
// Of all parts, one after the other.
std::string sha256_of(const std::vector<std::span<const std::byte>>& parts);

}  // namespace assay
