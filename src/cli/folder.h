// File names for results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"  // make_folder

namespace assay::cli {

// A file name without extension for each tensor name: letters, digits, '.', '_' and '-' stay, other
// characters become '_'. The names are unique, and none is hidden, empty or too long.
std::vector<std::string> file_names(const std::vector<std::string>& tensor_names);

}  // namespace assay::cli
