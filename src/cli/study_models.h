// The models that studies are about.
#pragma once

#include <string>

#include "cli/study_arguments.h"

namespace assay::cli {

// "dense" of "zoo:dense"; an error for a file, which has no parameters to vary.
std::string zoo_spec(const std::string& model);

// The one with a cache: as asked for, or of the same family of the zoo.
std::string cached_model(const StudyArguments& arguments);

}  // namespace assay::cli
