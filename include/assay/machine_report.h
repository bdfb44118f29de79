// This machine as people and programs read it.
#pragma once

#include <string>
#include <string_view>

#include "assay/machine.h"

namespace assay {

std::string machine_table(const Machine& machine);
std::string machine_json(const Machine& machine);

// Reads back what machine_json wrote. An Error names the field of `described_as` that is wrong.
Machine parse_machine_json(std::string_view text, const std::string& described_as);

}  // namespace assay
