// File names for results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"  // make_folder

namespace assay::cli {

// A file name for each tensor's name, without its ending: letters, digits, '.', '_' and '-' stay,
// the rest becomes '_'; no two are the same, none is hidden, empty or too long.
std::vector<std::string> file_names(const std::vector<std::string>& tensor_names);

}  // namespace assay::cli
