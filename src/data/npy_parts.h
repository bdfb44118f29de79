// Reads and writes .npy arrays, also as members of other files.
#pragma once

#include <filesystem>
#include <string>

#include "assay/tensor.h"
#include "data/byte_source.h"

namespace assay::data {

// `most_left()` of the source must be exact.
Tensor read_npy(ByteSource& source);

// Everything before the tensor's bytes, padded with spaces so that they are aligned.
std::string npy_header(const Tensor& tensor);
// bfloat16 as float32; an Error for other types that NumPy lacks. `path` is for its message.
Tensor as_numpy_has_it(const Tensor& tensor, const std::filesystem::path& path);

}  // namespace assay::data
