// NumPy .npy files in and out. A file is untrusted.
#pragma once

#include <filesystem>

#include "assay/tensor.h"

namespace assay {

// Versions 1 to 3; bool, integers, floats and complex; little endian; C or Fortran order (which is
// converted to C order). Anything else is an Error that names the file and the byte.
Tensor read_npy(const std::filesystem::path& path);
// The file appears whole or not at all. NumPy has no bfloat16: it is written as float32, which
// holds the same numbers exactly. Other types that NumPy lacks are an Error.
void write_npy(const Tensor& tensor, const std::filesystem::path& path);

}  // namespace assay
