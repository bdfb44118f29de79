// The time of the day for people and files.
#pragma once

#include <string>

namespace assay {

std::string utc_now();  // "2026-11-15T20:51:49Z"

}  // namespace assay
