// Messages of the library name its arguments and functions in backticks: `batch`. On the command
// line they are flags and commands.
#pragma once

#include <string>
#include <vector>

#include "assay/advice.h"

namespace assay::cli {

// "set `batch`" becomes "set --batch". What no flag stands for keeps its name.
std::string with_flags(std::string text);
void use_flags(std::vector<std::string>& texts);
void use_flags(std::vector<Advice>& advice);

}  // namespace assay::cli
