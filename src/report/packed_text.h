// A long text as a page holds it: compressed by zlib, in base64. A browser unpacks it with
// DecompressionStream('deflate').
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

std::string base64(std::string_view bytes);
std::string packed_text(std::string_view text);

}  // namespace assay::report
