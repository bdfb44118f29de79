// This machine as people and programs read it.
#pragma once

#include <string>

#include "assay/layout.h"
#include "assay/machine.h"

namespace assay {

std::string machine_table(const Machine& machine, const Layout& layout = {});
std::string machine_json(const Machine& machine);

}  // namespace assay
