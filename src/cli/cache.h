// Small files kept for next time in the user's cache folder: $XDG_CACHE_HOME/assay, or
// ~/.cache/assay.
#pragma once

#include <optional>
#include <string>

namespace assay::cli {

// Where a file of this kind for this subject lies: "machine-1a2b….json". Nothing without a folder.
std::optional<std::string> cache_path(const std::string& kind, const std::string& subject);

// Nothing where none was kept.
std::optional<std::string> kept_text(const std::optional<std::string>& path);

// Returns why it could not be kept; empty if it was. `what` is the subject of that sentence.
std::string keep_text(const std::optional<std::string>& path, const std::string& text,
                      const std::string& what);

}  // namespace assay::cli
