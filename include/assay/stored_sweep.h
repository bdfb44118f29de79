// The folder that a sweep wrote, read back: `sweep_results.csv`, recognised by the `summary.json`
// next to it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "assay/compare_sweeps.h"

namespace assay {

bool is_sweep_folder(const std::filesystem::path& path);
// Throws an Error that names the file, the line and the column.
StoredSweep read_sweep(const std::filesystem::path& folder);
StoredSweep parse_sweep_csv(std::string_view text, const std::string& described_as);

}  // namespace assay
