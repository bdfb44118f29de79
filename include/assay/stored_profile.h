// Profiles that were stored as JSON, read back.
#pragma once

#include <string>
#include <string_view>

#include "assay/compare_report.h"

namespace assay {

// Reads what profile_json wrote. Throws an Error that names `described_as` and the wrong field.
StoredProfile parse_profile_json(std::string_view text, const std::string& described_as);

}  // namespace assay
