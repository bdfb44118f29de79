// Small files in the user's cache folder: $XDG_CACHE_HOME/assay, or ~/.cache/assay.
#pragma once

#include <optional>
#include <string>

namespace assay {

// The path of the file of this kind for this key: ".../machine-1a2b….json". Nothing if neither
// environment variable names a folder.
std::optional<std::string> cache_path(const std::string& kind, const std::string& key);

// Nothing if there is no such file.
std::optional<std::string> read_cache(const std::optional<std::string>& path);

// Returns why the file could not be written, or an empty string. `what` is the subject of that
// sentence: "ceilings are".
std::string write_cache(const std::optional<std::string>& path, const std::string& text,
                        const std::string& what);

}  // namespace assay
