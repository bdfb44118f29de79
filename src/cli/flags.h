// Messages of the library name its arguments and functions in backticks: `batch`. On the command
// line they are flags and commands.
#pragma once

#include <string>
#include <vector>

#include "assay/advice.h"

namespace assay::cli {

// "set `batch`" becomes "set --batch". A name without a flag stays as it is.
std::string with_flags(std::string text);
void use_flags(std::vector<std::string>& texts);
void use_flags(std::vector<Advice>& advice);

}  // namespace assay::cli
