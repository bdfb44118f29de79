// Folders and file names for results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::cli {

// Makes the folder and those around it, or throws an Error that says why not.
void make_folder(const std::filesystem::path& folder);

// A file name for each tensor's name, without its ending: letters, digits, '.', '_' and '-' stay,
// the rest becomes '_'; no two are the same, none is hidden, empty or too long.
std::vector<std::string> file_names(const std::vector<std::string>& tensor_names);

}  // namespace assay::cli
