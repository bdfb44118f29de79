// The SHA-256 of a file, as 64 hexadecimal digits.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace assay
