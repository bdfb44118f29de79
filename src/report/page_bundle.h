// The script and the style sheet of pages, bundled by web/build.mjs; both empty in a build without
// npm. Their parts follow each other.
#pragma once

#include <span>
#include <string_view>

namespace assay::report {

std::span<const std::string_view> page_script();
std::span<const std::string_view> page_style();

}  // namespace assay::report
