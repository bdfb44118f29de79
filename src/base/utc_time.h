// Date and time as text, in UTC.
#pragma once

#include <string>

namespace assay {

std::string utc_now();  // "2026-11-15T20:51:49Z"

}  // namespace assay
