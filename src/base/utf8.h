#pragma once

#include <string_view>

namespace assay {

bool is_utf8(std::string_view text);

}  // namespace assay
