// NumPy .npz files in and out, several named arrays in one ZIP file. Files are
// untrusted.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "assay/tensor.h"

namespace assay {

// Arrays by name, as `numpy.savez` and `savez_compressed` write them; each array as `read_npy`
// reads it. Anything wrong is an Error that names the file and the byte: wrong checksums, duplicate
// names, encryption, overlapping members, and inconsistent sizes, which are checked before memory
// is allocated.
std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

// Not compressed. The file appears whole or not at all; types are as `write_npy` has them.
void write_npz(const std::map<std::string, Tensor>& arrays, const std::filesystem::path& path);

}  // namespace assay
