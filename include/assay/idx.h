// IDX files, the format of MNIST and similar data sets: plain, or compressed with gzip. Files are
// untrusted.
#pragma once

#include <filesystem>

#include "assay/tensor.h"

namespace assay {

// Whether it is compressed is told by its first bytes, not by its name. Anything wrong is an Error
// that names the file and the byte (of the uncompressed content).
Tensor read_idx(const std::filesystem::path& path);

}  // namespace assay
